-- leave: this machine takes no further part.

local packed = call('HGET', tag .. 'm', args.number)
if packed and cmsgpack.unpack(packed).nonce == args.nonce then
  forget(args.number)
  redraw({})
end
args.number = -1
return cmsgpack.pack(outlook())
