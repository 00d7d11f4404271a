-- take: bring back what is due, then give out leases for hosts of one worker. A lease moves nothing: its target leaves
-- the queue only when it is settled.

-- What one call may bring back, so that no call holds up the others.
local MAX_WOKEN = 1000

local expired = {}
for _, member in ipairs(call('ZRANGEBYSCORE', tag .. 'e', '-inf', now, 'LIMIT', 0, MAX_WOKEN)) do
  local token = string.match(member, '^%d+')
  give_back(token)
  expired[#expired + 1] = tonumber(token)
end
for _, member in ipairs(call('ZRANGEBYSCORE', tag .. 'd', '-inf', now, 'LIMIT', 0, MAX_WOKEN)) do
  local retry = cmsgpack.unpack(member)
  call('ZREM', tag .. 'd', member)
  state.delayed = state.delayed - 1
  enqueue(get_host(retry[2]), retry[3], retry[4])
  are_retries_touched = true
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

local function first_rank(host)
  local first
  for rank in pairs(host.ranks) do
    if not first or rank < first then
      first = rank
    end
  end
  return first
end

local function origin_of(host, mark)
  for _, origin in ipairs(host.origins) do
    if origin.mark == mark then
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

local function delay_of(host)
  local own = math.min(math.max(pace.factor * host.fetch, pace.min_delay), pace.max_delay)
  return math.max(own, math.min(host.crawl_delay, pace.max_crawl_delay))
end

local leases, blobs = {}, {}

local function hand_out(host, rank, value, entry, robots_at)
  local is_page = rank > 0 and entry[3] == 0
  if not may_lease(is_page) then
    return
  end
  local token = next_token()
  local name = string.format('%.0f', token)
  local expires_at = now + args.lease_seconds
  local member = name .. ':' .. args.node .. ':' .. state.ring
  call('HSET', tag .. 'l', name, cmsgpack.pack({ host.name, member, rank, value, host.free_at, is_page }))
  call('ZADD', tag .. 'e', expires_at, member)
  are_leases_touched = true
  host.token = token
  host.delay = delay_of(host)
  -- Written before the request can go out: whoever takes over after a crash finds the host resting.
  host.free_at = now + host.delay
  state.leased = state.leased + 1
  state.leased_pages = state.leased_pages + (is_page and 1 or 0)
  leases[#leases + 1] = { token, host.name, rank, robots_at, expires_at, rank < 0 and value or '' }
  blobs[#blobs + 1] = rank < 0 and '' or value
  local past = rank >= 0 and entry[2] ~= '' and call('HGET', tag .. 'y', entry[2])
  blobs[#blobs + 1] = past or ''
end

-- The first of a host's queue, or its robots.txt; nothing if the host must wait for that.
local function lease(host)
  local rank = first_rank(host)
  local value = call('LINDEX', tag .. 'q' .. rank .. ':' .. host.name, 0)
  local entry = cmsgpack.unpack(value)
  if rank == 0 then
    return hand_out(host, rank, value, entry, 0)
  end
  local mark = string.match(entry[1], '^[^/]*')
  local origin = origin_of(host, mark)
  if not origin or origin.expires_at <= now then
    return hand_out(host, -1, mark, entry, 0)
  elseif origin.is_pending then
    host.parked_until = origin.expires_at
  else
    return hand_out(host, rank, value, entry, origin.fetched_at)
  end
end

-- Hosts that now belong to another worker, or that wait for robots.txt, are looked at and not given out.
local MAX_PASSED = 200
local ready = {}
if args.limit > 0 then
  ready = call('ZRANGEBYSCORE', tag .. 'r' .. args.node, '-inf', now, 'LIMIT', 0, args.limit + MAX_PASSED)
end
for _, name in ipairs(ready) do
  if #leases == args.limit then
    break
  end
  local host = get_host(name)
  if host.ring ~= state.ring then
    host.node, host.ring = owner(host.point), state.ring
  end
  if host.node == args.node then
    lease(host)
  end
end
touched[args.node] = true
return reply({ leases, expired }, unpack(blobs))
