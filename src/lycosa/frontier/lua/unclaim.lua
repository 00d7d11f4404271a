-- unclaim: the lease under which these claims were held is settled or gone.

for _, pair in ipairs(args.claims) do
  local claim = call('HGET', tag .. 'k', pair[1])
  if claim and cmsgpack.unpack(claim)[1] == pair[2] then
    call('HDEL', tag .. 'k', pair[1])
  end
end
return 0
