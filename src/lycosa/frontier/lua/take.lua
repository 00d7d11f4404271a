-- take: bring back what is due, then give out leases for hosts of one worker. A lease moves nothing: its target leaves
-- the queue only when it is settled.

-- What one call may bring back, so that no call holds up the others.
local MAX_WOKEN = 1000

local expired = {}
for _, member in ipairs(call('ZRANGEBYSCORE', tag .. 'e', '-inf', now, 'LIMIT', 0, MAX_WOKEN)) do
  local token, name = read_member(member)
  give_back(token, name)
  expired[#expired + 1] = token
end
-- The answer to the first try was lost: what it gave out nobody knows of. (If this machine was taken for dead and its
-- number is another's by now, that one's leases end here too: their pages are fetched once more.)
if args.is_again then
  local known = {}
  for _, token in ipairs(args.held) do
    known[token] = true
  end
  for _, member in ipairs(call('ZRANGE', tag .. 'e', 0, -1)) do
    local token, name, node = read_member(member)
    if node == args.node and not known[token] then
      give_back(token, name)
    end
  end
end
for _, member in ipairs(call('ZRANGEBYSCORE', tag .. 'd', '-inf', now, 'LIMIT', 0, MAX_WOKEN)) do
  local retry = readable(member)
  local host = retry and type(retry[4]) == 'string' and type(retry[3]) == 'number' and find_host(tostring(retry[2]))
  call('ZREM', tag .. 'd', member)
  state.delayed = state.delayed - 1
  are_retries_touched = true
  if host then
    enqueue(host, retry[3], retry[4])
  else
    set_aside(member)
  end
end
save_hosts()

if args.grant and args.grant[1] > state.ticket then
  state.ticket, state.granted = args.grant[1], args.grant[2]
  has_changed = true
end

local function pages()
  return state.stored + state.unchanged + state.duplicate
end

-- Only pages count towards the limit; but when it is reached, nothing is asked for any more.
local function may_lease(is_page)
  if not args.is_limited then
    return true
  end
  return args.is_budget_left and (not is_page or pages() + state.leased_pages < state.granted)
end

local function origin_of(record, mark)
  for _, origin in ipairs(record[ORIGINS]) do
    if origin[MARK] == mark then
      return origin
    end
  end
end

-- Greater than any before, also if the server lost its last seconds: then the clock has gone on.
local function next_token()
  state.serial = math.max(state.serial + 1, math.floor(now * 1000))
  return state.serial * args.partitions + args.partition
end

local pace = args.pace

local function delay_of(record)
  local own = math.min(math.max(pace.factor * record[FETCH], pace.min_delay), pace.max_delay)
  local delay = math.max(own, math.min(record[CRAWL_DELAY], pace.max_crawl_delay))
  return math.max(delay, math.min(delay * record[SLOWDOWN], pace.max_delay))
end

local leases, blobs, deadlines = {}, {}, {}

local function hand_out(host, rank, value, entry, robots_at)
  local record, is_page = host.record, rank > 0 and entry[3] == 0
  if not may_lease(is_page) then
    return
  end
  local token, expires_at = next_token(), now + args.lease_seconds
  local member = string.format('%.0f:%d:%d:%s', token, args.node, state.ring, host.name)
  deadlines[#deadlines + 1] = expires_at
  deadlines[#deadlines + 1] = member
  are_leases_touched = true
  -- Breadth first it stays at the head of its queue; else it is looked for by its value.
  local mark = args.is_depth_first and rank >= 0 and value or ''
  record[LEASE] = { token, rank, record[FREE_AT], is_page, member, mark }
  record[DELAY] = delay_of(record)
  -- Written before the request can go out: whoever takes over after a crash finds the host resting.
  record[FREE_AT] = now + record[DELAY]
  host.is_dirty = true
  if pace.domain_gap > 0 then
    note_domain(record, token)
  end
  state.leased = state.leased + 1
  state.leased_pages = state.leased_pages + (is_page and 1 or 0)
  leases[#leases + 1] = { token, host.name, rank, robots_at, expires_at, rank < 0 and value or '', record[ADDRESS],
    tonumber(call('HGET', tag .. 'v', name_of(record[POINT])) or 0) }
  blobs[#blobs + 1] = rank < 0 and '' or value
  local past = rank >= 0 and entry[2] ~= '' and call('HGET', tag .. 'y', entry[2])
  blobs[#blobs + 1] = past or ''
end

-- Rank, value and fields of the first of a host's queue. What cannot be read is set aside; nothing if that was all.
local function first_of(host)
  local ranks = host.record[RANKS]
  while ranks[1] do
    local rank = ranks[1]
    local value = call('LINDEX', tag .. 'q' .. rank .. ':' .. host.name, 0)
    local entry = readable(value)
    local is_target = entry and type(entry[2]) == 'string' and type(entry[3]) == 'number'
    -- The mark of an origin, then a path: of any other the rules would be asked for again and again.
    if is_target and type(entry[1]) == 'string' and string.match(entry[1], '^s?:?%d*/') then
      return rank, value, entry
    end
    dequeue(host, rank, '')
    set_aside(value)
    host.is_dirty = true
  end
end

-- The first of a host's queue, or its robots.txt; nothing if the host must wait for that.
local function lease(host)
  local record = host.record
  local rank, value, entry = first_of(host)
  if not rank then
    return
  end
  if rank == 0 then
    return hand_out(host, rank, value, entry, 0)
  end
  local mark = string.match(entry[1], '^[^/]*')
  local origin = origin_of(record, mark)
  if not origin or origin[EXPIRES_AT] <= now then
    hand_out(host, -1, mark, entry, 0)
  elseif origin[IS_PENDING] then
    record[PARKED_UNTIL], host.is_dirty = origin[EXPIRES_AT], true
  else
    hand_out(host, rank, value, entry, origin[FETCHED_AT])
  end
end

-- When the domain of a host may be asked: many names of it on one server, or on who knows which, are one server.
local function domain_free_at(record)
  local unit = pace.domain_gap > 0 and call('GET', domain_key(record))
  if not unit then
    return now
  end
  local at, _, address = unpack(cmsgpack.unpack(unit))
  local is_elsewhere = record[ADDRESS] ~= '' and address ~= '' and record[ADDRESS] ~= address
  return at + (is_elsewhere and pace.domain_gap or pace.min_delay)
end

-- Many wait for one domain: those behind the first ones are not looked at again each time it is free.
local LINE_HOSTS = 64
local postponed, lines = {}, {}

local function postpone(host, due)
  local point = host.record[POINT]
  lines[point] = (lines[point] or 0) + 1
  postponed[host.name] = due + math.max(0, lines[point] - LINE_HOSTS) * pace.min_delay
end

-- Hosts that now belong to another worker, or that wait for robots.txt, are passed over; not too many in one call.
local MAX_PASSED = 200
-- A balanced worker that has more to do than it can begins with the domains it has had least: so many hosts are compared
-- for each that is wanted. As `policy/balance.py: turn_of` has it.
local COMPARED_PER_LEASE, WAIT_PER_VISIT, MAX_WAIT = 4, 0.01, 10

local function turn_of(record)
  return record[FREE_AT] + math.min(WAIT_PER_VISIT * record[TIMES], MAX_WAIT)
end

-- The next hosts of this worker that may be asked.
local function ready_hosts(first, wanted)
  local many = state.is_balanced and COMPARED_PER_LEASE * wanted or wanted
  local names = call('ZRANGEBYSCORE', tag .. 'r' .. args.node, '-inf', now, 'LIMIT', first, many)
  local found = {}
  find_hosts(names)
  for place, name in ipairs(names) do
    found[place] = find_host(name)
  end
  if state.is_balanced then
    table.sort(found, function(one, other) return turn_of(one.record) < turn_of(other.record) end)
  end
  return found
end

local function is_mine(record)
  return record[RING] == state.ring or (not state.is_balanced and owner(record[POINT], region_of(record)) == args.node)
end

local seen = 0
while #leases < args.limit and seen < args.limit + MAX_PASSED do
  -- As many as are needed: every name costs, and the hosts stay listed until this call is over.
  local ready = ready_hosts(seen, args.limit - #leases)
  if #ready == 0 then
    break
  end
  seen = seen + #ready
  for _, host in ipairs(ready) do
    if #leases == args.limit then
      break
    end
    if is_mine(host.record) then
      local due = domain_free_at(host.record)
      if due <= now then
        lease(host)
      else
        postpone(host, due)
      end
    else
      host.is_dirty = true
    end
  end
end
save_hosts()
for name, due in pairs(postponed) do
  call('ZADD', tag .. 'r' .. args.node, due, name)
end
call_for_all('ZADD', tag .. 'e', deadlines)
touched[args.node] = true
for _, node in ipairs(args.listeners) do
  touched[node] = true
end
return reply({ leases, expired }, unpack(blobs))
