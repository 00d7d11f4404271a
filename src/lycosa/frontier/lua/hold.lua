-- hold: make leases last a little longer while what their visits discovered is on its way to other partitions.

local late = {}
for _, token in ipairs(args.tokens) do
  local packed = call('HGET', tag .. 'l', token)
  if packed then
    call('ZADD', tag .. 'e', 'GT', now + args.seconds, cmsgpack.unpack(packed)[2])
    are_leases_touched, has_changed = true, true
  else
    late[#late + 1] = tonumber(token)
  end
end
return reply(late)
