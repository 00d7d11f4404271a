-- unreserve: nothing was sent under these leases, so their addresses have not been asked.

for _, want in ipairs(args.wants) do
  local key = tag .. 'a' .. want[1]
  local packed = call('GET', key)
  local last = packed and cmsgpack.unpack(packed)
  if last and last[2] == want[2] then
    last[1], last[2] = 0, 0
    call('SET', key, cmsgpack.pack(last), 'KEEPTTL')
  end
end
return 0
