-- defer: leases whose address may not be asked yet. Nothing was sent; each host comes again when it is its turn.

local due = {}
for _, deferred in ipairs(args.leases) do
  local token, name, address, due_at = unpack(deferred)
  local lease, host = end_lease(token, name)
  if lease then
    host.record[ADDRESS] = address
    unask(host, lease)
    due[name] = math.max(due_at, host.record[FREE_AT])
  end
end
save_hosts()
for name, moment in pairs(due) do
  local record = find_host(name).record
  if record[IS_LISTED] then
    call('ZADD', tag .. 'r' .. record[NODE], math.max(moment, record[PARKED_UNTIL]), name)
    touched[record[NODE]] = true
  end
end
return reply(0)
