-- budget: how many pages each partition may lease, so that all together never pass the limit.
--
-- For every partition: what was granted here is never less than what the partition itself believes. So grants are
-- written here first and there second; what is recalled is given up there first and returned here second. Tickets put
-- the two in order: whichever arrives late at a partition carries an older ticket and changes nothing.

local key = tag .. 'p'

local function number(field)
  return tonumber(call('HGET', key, field) or 0)
end

local function next_ticket(partition)
  return call('HINCRBY', key, 't' .. partition, 1)
end

local granted = number('granted')
for _, given_up in ipairs(args.returned) do
  local partition, ticket, used = given_up[1], given_up[2], given_up[3]
  if number('t' .. partition) == ticket then
    granted = granted - (number('g' .. partition) - used)
    call('HSET', key, 'g' .. partition, used)
  end
end
-- The limit may be another one than last time.
local left = args.max_pages - granted

local grants, tickets = {}, {}
for _, want in ipairs(args.wanted) do
  local partition, pages = want[1], want[2]
  -- More than is wanted while there is plenty: then it need not ask again soon.
  local given = math.max(0, math.min(left, math.max(pages, math.floor(left / (4 * args.partitions)))))
  if given > 0 then
    left, granted = left - given, granted + given
    local total = call('HINCRBY', key, 'g' .. partition, given)
    grants[#grants + 1] = { partition, next_ticket(partition), total }
  end
end
for _, partition in ipairs(args.recalled) do
  tickets[#tickets + 1] = { partition, next_ticket(partition) }
end
call('HSET', key, 'granted', granted)
return cmsgpack.pack({ grants, tickets, math.max(0, args.max_pages - granted) })
