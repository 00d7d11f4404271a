-- claim: has this content been stored? If not, whoever asks first may store it, as long as its lease lasts.

local original = call('HGET', tag .. 'c', args.digest)
if original and original ~= args.url then
  return reply(0, original)
end
local claim = call('HGET', tag .. 'k', args.digest)
if claim then
  local holder, until_at = unpack(cmsgpack.unpack(claim))
  if holder ~= args.token and until_at > now then
    return reply(until_at, '')
  end
end
if args.token ~= '' then
  call('HSET', tag .. 'k', args.digest, cmsgpack.pack({ args.token, args.until_at }))
end
return reply(0, '')
