-- claim: has this content been stored? If not, whoever asks first may store it, as long as its lease lasts.
-- Returns who holds the claim, 0 if it is the caller's, and the URL that has the content, '' if none has.

local original = call('HGET', tag .. 'c', args.digest)
if original and original ~= args.url then
  return { 0, original }
end
local claim = call('HGET', tag .. 'k', args.digest)
if claim then
  local holder, until_at = unpack(cmsgpack.unpack(claim))
  local now = args.now or tonumber(call('TIME')[1])
  if holder ~= args.token and until_at > now then
    return { holder, '' }
  end
end
if args.token ~= 0 then
  call('HSET', tag .. 'k', args.digest, cmsgpack.pack({ args.token, args.until_at }))
end
return { 0, '' }
