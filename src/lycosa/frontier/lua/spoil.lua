-- spoil: leases whose targets turned out to be none. Nothing was sent; each is set aside.

for _, pair in ipairs(args.leases) do
  local lease, host = end_lease(pair[1], pair[2])
  if lease then
    unask(host, lease)
    local value = lease[VALUE]
    if value == '' then
      value = call('LINDEX', tag .. 'q' .. lease[RANK] .. ':' .. host.name, 0)
    end
    dequeue(host, lease[RANK], lease[VALUE])
    set_aside(value)
  end
end
return reply(0)
