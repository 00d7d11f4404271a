-- One partition of the frontier. This file stands before every verb: how hosts, queues, leases and counters are kept.
--
-- KEYS[1] is the partition's tag, `{lycosa:<crawl>:<partition>}`; all its keys begin with it, so they live in one slot
-- of a cluster:
--   n            the counters and everything else that is one per partition
--   h            host -> record
--   q<rank>:<h>  the queue of one host and rank, in order of arrival: a list, since a list costs 2 bytes per entry more
--                than its value (a sorted set costs 100)
--   r<node>      the hosts of one worker that have something queued and are not leased, by the time they may be asked
--   l, e         token -> lease; the deadline index of the leases, whose members are token:node:ring
--   d            retries by the time they are due
--   s<bucket>    known URLs, as 64-bit integers in small sets that Redis keeps as sorted arrays
--   y            fingerprint -> history of a visited URL
--   t            origin -> robots record
--   c, k         digest -> URL that has this content; digest -> claim
--   g, o         the ring: points and owners, and the list of its nodes
--
-- Times are POSIX seconds. Redis counts them, and nobody else: machines need not agree on the time.

local tag, call = KEYS[1], redis.call
local args = cmsgpack.unpack(ARGV[1])

local packed_state = call('GET', tag .. 'n')
if not packed_state then
  return redis.error_reply('LOST the partition is not there')
end
local state = cmsgpack.unpack(packed_state)
if state.id ~= args.id then
  return redis.error_reply('LOST the partition belongs to another crawl')
end

local now = args.now
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1e6 + state.shift
  if now < state.now then
    -- The server's clock was set back (or another server took over): go on from where we were.
    state.shift = state.shift + state.now - now
    now = state.now
  end
end
state.now = now

local has_changed = false
local hosts = {}        -- name -> host: those this call has touched
local touched = {}      -- node -> true: workers whose list of hosts may have another head
local are_leases_touched, are_retries_touched = false, false

-- ---- the ring

-- Six bytes of point and four of owner per entry, ascending.
local ENTRY_BYTES = 10

local function ring_entry(place)
  local start = place * ENTRY_BYTES
  return struct.unpack('>I6I4', call('GETRANGE', tag .. 'g', start, start + ENTRY_BYTES - 1))
end

-- The node that looks after a point: the next one clockwise.
local function owner(point)
  local low, high = 0, state.ring_entries
  while low < high do
    local middle = math.floor((low + high) / 2)
    if ring_entry(middle) <= point then
      low = middle + 1
    else
      high = middle
    end
  end
  local _, node = ring_entry(low % state.ring_entries)
  return node
end

-- ---- hosts

local function is_healthy(host)
  if host.failures > 0 then
    return false
  end
  for _, origin in ipairs(host.origins) do
    if origin.is_pending then
      return false
    end
  end
  return true
end

-- Positions in a record. An array takes half the bytes of a map.
local function unpack_host(name, packed)
  local record = cmsgpack.unpack(packed)
  local origins = {}
  for place, origin in ipairs(record[13]) do
    origins[place] = {
      mark = origin[1], fetched_at = origin[2], expires_at = origin[3], is_pending = origin[4], crawl_delay = origin[5],
    }
  end
  return {
    name = name, point = record[1], node = record[2], ring = record[3], listed = record[4], token = record[5],
    free_at = record[6], parked_until = record[7], delay = record[8], crawl_delay = record[9], fetch = record[10],
    failures = record[11], ranks = record[12], origins = origins,
  }
end

local function pack_host(host)
  local origins = {}
  for place, origin in ipairs(host.origins) do
    origins[place] = { origin.mark, origin.fetched_at, origin.expires_at, origin.is_pending, origin.crawl_delay }
  end
  return cmsgpack.pack({
    host.point, host.node, host.ring, host.listed, host.token, host.free_at, host.parked_until, host.delay,
    host.crawl_delay, host.fetch, host.failures, host.ranks, origins,
  })
end

-- `point` is needed only for a host that may be new.
local function get_host(name, point)
  local host = hosts[name]
  if host then
    return host
  end
  local packed = call('HGET', tag .. 'h', name)
  if packed then
    host = unpack_host(name, packed)
    host.counted = next(host.ranks) ~= nil and is_healthy(host)
  else
    state.hosts = state.hosts + 1
    host = {
      name = name, point = point, node = -1, ring = -1, listed = -1, token = 0, free_at = 0, parked_until = 0,
      delay = 0, crawl_delay = 0, fetch = 0, failures = 0, ranks = {}, origins = {}, counted = false,
    }
  end
  hosts[name] = host
  return host
end

local function due_at(host)
  return math.max(host.free_at, host.parked_until)
end

-- Stand where its worker finds it, if there is something to do and nobody is at it.
local function list_host(host)
  local wants = next(host.ranks) ~= nil and host.token == 0
  if wants and host.ring ~= state.ring then
    host.node, host.ring = owner(host.point), state.ring
  end
  if host.listed >= 0 and not (wants and host.listed == host.node) then
    call('ZREM', tag .. 'r' .. host.listed, host.name)
    touched[host.listed] = true
    host.listed = -1
  end
  if wants then
    call('ZADD', tag .. 'r' .. host.node, due_at(host), host.name)
    touched[host.node] = true
    host.listed = host.node
  end
end

local function save_hosts()
  for name, host in pairs(hosts) do
    list_host(host)
    -- Hosts with work and without trouble are counted: when there are none, what is left is waiting.
    local counts = next(host.ranks) ~= nil and is_healthy(host)
    if counts ~= host.counted then
      state.healthy = state.healthy + (counts and 1 or -1)
    end
    call('HSET', tag .. 'h', name, pack_host(host))
    hosts[name] = nil
    has_changed = true
  end
end

-- ---- queues

local function enqueue(host, rank, value)
  call(args.is_depth_first and 'LPUSH' or 'RPUSH', tag .. 'q' .. rank .. ':' .. host.name, value)
  host.ranks[rank] = (host.ranks[rank] or 0) + 1
  state.queued = state.queued + 1
  if rank == 0 then
    -- A robots.txt needs no permission, so it need not wait for this host's own.
    host.parked_until = 0
  end
end

local function dequeue(host, rank, value)
  local queue = tag .. 'q' .. rank .. ':' .. host.name
  if call('LINDEX', queue, 0) == value then
    call('LPOP', queue)
  else
    -- Depth first: others came before it meanwhile. They are few, so it is near the head.
    assert(call('LREM', queue, 1, value) == 1, 'a leased target is queued')
  end
  local left = host.ranks[rank] - 1
  host.ranks[rank] = left > 0 and left or nil
  state.queued = state.queued - 1
end

-- ---- known URLs

-- A set of up to 512 integers is a sorted array. On average 200, so that those not yet split stay below.
local URLS_PER_BUCKET = 200

local function bucket_of(number)
  local hash, level = tonumber(string.sub(number, -9)), state.level
  local bucket = hash % level
  if bucket < state.buckets - level then
    bucket = hash % (2 * level)
  end
  return tag .. 's' .. bucket
end

-- Linear hashing: one bucket more for every 200 URLs, made of half of the oldest one.
local function split_bucket()
  local new = state.buckets
  local old_key, new_key = tag .. 's' .. (new - state.level), tag .. 's' .. new
  local moved = {}
  for _, number in ipairs(call('SMEMBERS', old_key)) do
    if tonumber(string.sub(number, -9)) % (2 * state.level) == new then
      moved[#moved + 1] = number
    end
  end
  for start = 1, #moved, 500 do
    local last = math.min(start + 499, #moved)
    call('SREM', old_key, unpack(moved, start, last))
    call('SADD', new_key, unpack(moved, start, last))
  end
  state.buckets = new + 1
  if state.buckets == 2 * state.level then
    state.level = state.buckets
  end
end

local function is_new(number)
  if call('SADD', bucket_of(number), number) == 0 then
    return false
  end
  state.known = state.known + 1
  if state.known > state.buckets * URLS_PER_BUCKET then
    split_bucket()
  end
  return true
end

-- Groups of {host, point, {number, rank, value}...}; an errand has no number: it may come again and again.
local function add_targets(groups)
  local before = state.known
  for _, group in ipairs(groups) do
    local host
    for place = 3, #group do
      local target = group[place]
      if target[1] == '' or is_new(target[1]) then
        host = host or get_host(group[1], group[2])
        enqueue(host, target[2], target[3])
      end
    end
  end
  has_changed = has_changed or #groups > 0
  return state.known - before
end

-- ---- robots.txt

-- What was learnt of an origin: {host, point, mark, fetched_at, expires_at, is_pending, crawl_delay, origin, record}.
-- The same decisions as `frontier/rules.py: learn`; the twins test holds them together.
local function learn(news)
  local host = get_host(news[1], news[2])
  local crawl_delay, kept = news[7], {}
  for _, origin in ipairs(host.origins) do
    if origin.mark ~= news[3] then
      kept[#kept + 1] = origin
    elseif news[6] then
      -- While robots.txt cannot be read its last wish still holds.
      crawl_delay = origin.crawl_delay
    end
  end
  kept[#kept + 1] = {
    mark = news[3], fetched_at = news[4], expires_at = news[5], is_pending = news[6], crawl_delay = crawl_delay,
  }
  while #kept > args.max_origins do
    table.remove(kept, 1)
  end
  host.origins, host.crawl_delay = kept, 0
  for _, origin in ipairs(kept) do
    host.crawl_delay = math.max(host.crawl_delay, origin.crawl_delay)
  end
  if news[9] ~= '' then
    call('HSET', tag .. 't', news[8], news[9])
  end
  if not news[6] then
    host.parked_until = 0
  end
end

-- ---- leases

local function end_lease(token)
  local packed = call('HGET', tag .. 'l', token)
  if not packed then
    return nil
  end
  local record = cmsgpack.unpack(packed)
  local lease = { host = record[1], member = record[2], rank = record[3], value = record[4], free_at_before = record[5] }
  call('HDEL', tag .. 'l', token)
  call('ZREM', tag .. 'e', lease.member)
  are_leases_touched, has_changed = true, true
  state.leased = state.leased - 1
  if record[6] then
    state.leased_pages = state.leased_pages - 1
  end
  local host = get_host(lease.host)
  host.token = 0
  return lease, host
end

-- A lease ends without a settlement: its target is still queued, its host rests as if it had been asked.
local function give_back(token)
  local lease, host = end_lease(token)
  host.free_at = now + host.delay
  return lease
end

-- ---- the reply of every verb: the partition's state, what changed for whom, then what the verb has to say

local function head_of(key)
  local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return head[2] and tonumber(head[2]) or -1
end

local function first_due()
  local first = -1
  for _, node in ipairs(cmsgpack.unpack(call('GET', tag .. 'o'))) do
    local head = head_of(tag .. 'r' .. node)
    if head >= 0 and (first < 0 or head < first) then
      first = head
    end
  end
  return first
end

local function reply(answer, ...)
  save_hosts()
  if are_leases_touched then
    state.next_expiry = head_of(tag .. 'e')
  end
  if are_retries_touched then
    state.next_retry = head_of(tag .. 'd')
  end
  if has_changed then
    -- When all that is left is trouble, somebody wants to know until when.
    state.idle_due = state.queued > 0 and state.healthy == 0 and state.leased == 0 and first_due() or -1
    state.changes = state.changes + 1
    packed_state = cmsgpack.pack(state)
    call('SET', tag .. 'n', packed_state)
  end
  local heads = {}
  for node in pairs(touched) do
    heads[#heads + 1] = { node, head_of(tag .. 'r' .. node) }
  end
  return { packed_state, cmsgpack.pack(heads), cmsgpack.pack(now), cmsgpack.pack(answer), ... }
end
