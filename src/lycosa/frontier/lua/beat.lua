-- beat: this machine is alive. Returns how things stand; number -1 if it was taken for dead meanwhile.

local clock = heard_clock()
local packed = call('HGET', tag .. 'm', args.number)
if not packed or cmsgpack.unpack(packed).nonce ~= args.nonce then
  args.number = -1
else
  call('ZADD', tag .. 'b', clock, args.number)
end
if forget_the_silent(clock) then
  redraw({})
end
return cmsgpack.pack(outlook())
