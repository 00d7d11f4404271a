-- grant: how many pages each partition may fetch, so that all together never pass the limit.
--
-- KEYS[1] is the crawl's tag, `p` a hash: partition -> the epoch of the owner that asked last, and what it was granted.
-- An owner asks for a total: what its partition has fetched and leased, and what it wants to lease. A smaller one than
-- before gives the rest back. Owners of the past are not heard.
-- Returns the totals granted, in the order of the wishes, and what is left.

local key, call = KEYS[1] .. 'p', redis.call
local args = cmsgpack.unpack(ARGV[1])

local granted = tonumber(call('HGET', key, 'granted') or 0)
local totals = {}
for place, wish in ipairs(args.wishes) do
  local partition, epoch, wanted = wish[1], wish[2], wish[3]
  local packed = call('HGET', key, partition)
  local last_epoch, total = 0, 0
  if packed then
    last_epoch, total = unpack(cmsgpack.unpack(packed))
  end
  if epoch >= last_epoch then
    local given = math.min(wanted, total + math.max(0, args.max_pages - granted))
    -- What was fetched already cannot be taken back, however the limit changes.
    given = math.max(given, math.min(wanted, total))
    granted, total = granted + given - total, given
    call('HSET', key, partition, cmsgpack.pack({ epoch, total }))
  end
  totals[place] = total
end
call('HSET', key, 'granted', granted)
return cmsgpack.pack({ totals, math.max(0, args.max_pages - granted) })
