-- hold: make leases last a little longer while what their visits discovered is on its way to other partitions.

local late = {}
for _, pair in ipairs(args.leases) do
  local token, host = pair[1], find_host(pair[2])
  local lease = host and host.record[LEASE]
  if lease and lease[TOKEN] == token then
    call('ZADD', tag .. 'e', 'GT', now + args.seconds, lease[MEMBER])
    are_leases_touched, has_changed = true, true
  else
    late[#late + 1] = token
  end
end
return reply(late)
