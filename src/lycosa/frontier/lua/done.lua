-- done: all partitions have this ring, and what these nodes left behind is passed on.

if args.version > ring.everywhere then
  ring.everywhere = args.version
  call('SET', tag .. 'v', cmsgpack.pack(ring))
end
for _, pair in ipairs(args.gone) do
  -- Gone once more since: then there is more to do.
  if tonumber(call('HGET', tag .. 'x', pair[1])) == pair[2] then
    call('HDEL', tag .. 'x', pair[1])
  end
end
return cmsgpack.pack(outlook())
