-- One partition of the frontier. This file stands before every verb: how hosts, queues, leases and counters are kept.
--
-- KEYS[1] is the partition's tag, `{lycosa:<crawl>:<partition>}`; all its keys begin with it, so they live in one slot
-- of a cluster:
--   n            the counters and everything else that is one per partition
--   h            host -> record
--   q<rank>:<h>  the queue of one host and rank, in order of arrival: a list, since an entry costs 4 bytes more than its
--                value (of a sorted set 114)
--   r<node>      the hosts of one worker that have something queued and are not leased, by the time they may be asked
--   e            the deadline index of the leases; a lease itself stands in the record of its host
--   d            retries by the time they are due
--   s<bucket>    known URLs, as 64-bit integers in small sets that Redis keeps as sorted arrays
--   y            fingerprint -> history of a visited URL
--   t            origin -> robots record
--   v, w         point of a registered domain -> version of the notes on it; the notes
--   c, k         digest -> URL that has this content; digest -> claim
--   u<point>     the last request to a registered domain, whose hosts all stand at one point of the ring
--   a<address>   the last request to an address; of whichever partition the address falls to
--   p            what could not be read, set aside
--   g, g<region> the ring of all nodes, and that of each region: points and owners
--   o, j         the list of all nodes, and of their regions
--   f            of a balanced crawl: cell of the sketch -> how often each node had the domains that fall to it
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

local has_changed, changes_before = false, state.changes
local hosts = {}        -- name -> host: those this call has touched
local touched = {}      -- node -> true: workers whose list of hosts may have another head
local are_leases_touched, are_retries_touched = false, false

-- ---- the ring

-- Six bytes of point and four of owner per entry, ascending.
local ENTRY_BYTES = 10

local function ring_entry(key, place)
  local start = place * ENTRY_BYTES
  return struct.unpack('>I6I4', call('GETRANGE', key, start, start + ENTRY_BYTES - 1))
end

-- The node of a region that looks after a point: the next one clockwise.
local function owner(point, region)
  local key, entries = tag .. 'g' .. region, state.rings[region]
  local low, high = 0, entries
  while low < high do
    local middle = math.floor((low + high) / 2)
    if ring_entry(key, middle) <= point then
      low = middle + 1
    else
      high = middle
    end
  end
  local _, node = ring_entry(key, low % entries)
  return node
end

local nodes, regions
local function all_nodes()
  nodes = nodes or cmsgpack.unpack(call('GET', tag .. 'o'))
  return nodes
end

local function all_regions()
  regions = regions or cmsgpack.unpack(call('GET', tag .. 'j'))
  return regions
end

-- ---- the balanced assignment: a count-min sketch of the visits to each domain, for every node

-- The rows are cut out of a domain's point. Its last bits are the same for all domains here: they chose the partition.
local SKETCH_ROWS, SKETCH_WIDTH, USED_BITS = 4, 512, 4096

local function cells_of(point)
  local cells, rest = {}, math.floor(point / USED_BITS)
  for row = 1, SKETCH_ROWS do
    cells[row] = (row - 1) * SKETCH_WIDTH + rest % SKETCH_WIDTH
    rest = math.floor(rest / SKETCH_WIDTH)
  end
  return cells
end

-- What a cell says of every node. One that came later begins where the least of the others stands.
local function counts_in(packed)
  local before, counts, least = packed and cmsgpack.unpack(packed) or {}, {}, nil
  for _, node in ipairs(all_nodes()) do
    counts[node] = before[node]
    if before[node] and (not least or before[node] < least) then
      least = before[node]
    end
  end
  for _, node in ipairs(all_nodes()) do
    counts[node] = counts[node] or least or 0
  end
  return counts
end

-- As many are compared as `policy/balance.py` compares.
local MAX_COMPARED = 8

-- How many hosts each node has on its list, with those that this call will put there.
local lengths = {}

local function shortest_list(tied, point)
  local chosen, shortest
  for turn = 1, math.min(#tied, MAX_COMPARED) do
    local node = tied[(math.floor(point / USED_BITS) + turn) % #tied + 1]
    lengths[node] = lengths[node] or call('ZCARD', tag .. 'r' .. node)
    if not shortest or lengths[node] < shortest then
      chosen, shortest = node, lengths[node]
    end
  end
  lengths[chosen] = shortest + 1
  return chosen
end

-- Who of a region has a domain next, which is counted, and how often it had it before. If somebody was chosen already
-- and did not get to it, that counts no more.
local function choose(point, region, chosen_before)
  local cells = cells_of(point)
  local rows, times = call('HMGET', tag .. 'f', unpack(cells)), {}
  for row = 1, SKETCH_ROWS do
    rows[row] = counts_in(rows[row])
    if rows[row][chosen_before] then
      rows[row][chosen_before] = math.max(0, rows[row][chosen_before] - 1)
    end
    for node, count in pairs(rows[row]) do
      times[node] = math.min(times[node] or count, count)
    end
  end
  local least, tied = math.huge, {}
  for place, node in ipairs(all_nodes()) do
    if region == '' or all_regions()[place] == region then
      if times[node] < least then
        least, tied = times[node], {}
      end
      if times[node] == least then
        tied[#tied + 1] = node
      end
    end
  end
  local chosen, fields = shortest_list(tied, point), {}
  for row = 1, SKETCH_ROWS do
    rows[row][chosen] = rows[row][chosen] + 1
    fields[2 * row - 1], fields[2 * row] = cells[row], cmsgpack.pack(rows[row])
  end
  call('HSET', tag .. 'f', unpack(fields))
  return chosen, least
end

-- ---- hosts

-- A record is an array, which takes half the bytes and time of a map. These are its places.
local POINT, NODE, RING, IS_LISTED, FREE_AT, PARKED_UNTIL = 1, 2, 3, 4, 5, 6
local DELAY, CRAWL_DELAY, FETCH, FAILURES, RANKS, ORIGINS, LEASE, ADDRESS = 7, 8, 9, 10, 11, 12, 13, 14
local REFUSALS, SLOWDOWN, BAN, TIMES = 15, 16, 17, 18
-- The region that a rule binds it to, the one that is nearest, and how long it took each to connect; how many targets its
-- queue had no room for. Few hosts have any of these, so the record ends before them where it can.
local RULED, NEAREST, MEASURED, DROPPED = 19, 20, 21, 22
-- Of an origin within it, and of the lease that is out.
local MARK, FETCHED_AT, EXPIRES_AT, IS_PENDING, ITS_CRAWL_DELAY = 1, 2, 3, 4, 5
local TOKEN, RANK, FREE_AT_BEFORE, IS_PAGE, MEMBER, VALUE = 1, 2, 3, 4, 5, 6

-- With something queued and without trouble. When there is no such host, all that is left is waiting.
local function is_healthy(record)
  if not record[RANKS][1] or record[FAILURES] > 0 then
    return false
  end
  for _, origin in ipairs(record[ORIGINS]) do
    if origin[IS_PENDING] then
      return false
    end
  end
  return true
end

-- A registered domain has its point to itself. Written out: Lua would give large numbers an exponent.
local function name_of(point)
  return string.format('%.0f', point)
end

local function open_host(name, packed)
  local record = cmsgpack.unpack(packed)
  if not record[TIMES] then
    record[TIMES], record[RULED], record[NEAREST], record[MEASURED], record[DROPPED] = 0, '', '', false, 0
  end
  local host = { name = name, record = record, was_healthy = is_healthy(record), is_dirty = false }
  hosts[name] = host
  return host
end

local function find_host(name)
  if hosts[name] then
    return hosts[name]
  end
  local packed = call('HGET', tag .. 'h', name)
  return packed and open_host(name, packed) or nil
end

local function pack_record(record)
  if record[TIMES] == 0 and record[RULED] == '' and record[NEAREST] == '' and not record[MEASURED]
    and record[DROPPED] == 0 then
    for place = DROPPED, TIMES, -1 do
      record[place] = nil
    end
  end
  return cmsgpack.pack(record)
end

-- What one command takes at most: Lua has room for some thousand values.
local MANY = 1000

-- Find many hosts at once: a command for each would cost more than what it brings.
local function find_hosts(names)
  for first = 1, #names, MANY do
    local last = math.min(first + MANY - 1, #names)
    local found = call('HMGET', tag .. 'h', unpack(names, first, last))
    for place = first, last do
      local packed = found[place - first + 1]
      if packed and not hosts[names[place]] then
        open_host(names[place], packed)
      end
    end
  end
end

-- The same command for many pairs of values, or single ones.
local function call_for_all(command, key, values)
  for first = 1, #values, 2 * MANY do
    call(command, key, unpack(values, first, math.min(first + 2 * MANY - 1, #values)))
  end
end

local function get_host(name, point, region)
  local host = find_host(name)
  if not host then
    state.hosts = state.hosts + 1
    local record = { point, -1, -1, false, 0, 0, 0, 0, 0, 0, {}, {}, false, '', -1, 1, '', 0, region, '', false, 0 }
    host = { name = name, record = record, was_healthy = false, is_dirty = true }
    hosts[name] = host
  elseif host.record[RULED] ~= region then
    host.record[RULED], host.record[RING], host.is_dirty = region, -1, true
  end
  return host
end

-- The region whose nodes visit a host. While none of them is there, anybody does: better from afar than not at all.
local function region_of(record)
  local region = record[RULED] ~= '' and record[RULED] or record[NEAREST]
  return state.rings[region] and region or ''
end

-- Whoever visits it next. A balanced crawl chooses after every visit: the ring of the record is then -1.
local function assign(record)
  if state.is_balanced then
    record[NODE], record[TIMES] = choose(record[POINT], region_of(record), record[RING] >= 0 and record[NODE])
  else
    record[NODE] = owner(record[POINT], region_of(record))
  end
  record[RING] = state.ring
end

-- Stand where its worker finds it, if there is something to do and nobody is at it: on the lists of nodes that it leaves
-- and joins.
local function list_host(host, left, joined)
  local record = host.record
  local was_listed, old_node = record[IS_LISTED], record[NODE]
  record[IS_LISTED] = record[RANKS][1] ~= nil and not record[LEASE]
  if record[IS_LISTED] and record[RING] ~= state.ring then
    assign(record)
  end
  if was_listed and not (record[IS_LISTED] and record[NODE] == old_node) then
    left[old_node] = left[old_node] or {}
    table.insert(left[old_node], host.name)
    touched[old_node] = true
  end
  if record[IS_LISTED] then
    local list = joined[record[NODE]] or {}
    list[#list + 1] = math.max(record[FREE_AT], record[PARKED_UNTIL])
    list[#list + 1] = host.name
    joined[record[NODE]] = list
    touched[record[NODE]] = true
  end
end

local function save_hosts()
  local saved, left, joined = {}, {}, {}
  for name, host in pairs(hosts) do
    if host.is_dirty then
      list_host(host, left, joined)
      local healthy = is_healthy(host.record)
      if healthy ~= host.was_healthy then
        state.healthy = state.healthy + (healthy and 1 or -1)
      end
      saved[#saved + 1] = name
      saved[#saved + 1] = pack_record(host.record)
      has_changed = true
    end
    hosts[name] = nil
  end
  call_for_all('HSET', tag .. 'h', saved)
  for node, names in pairs(left) do
    call_for_all('ZREM', tag .. 'r' .. node, names)
  end
  for node, pairs_of in pairs(joined) do
    call_for_all('ZADD', tag .. 'r' .. node, pairs_of)
  end
end

-- ---- queues

local function enqueue(host, rank, value)
  call(args.is_depth_first and 'LPUSH' or 'RPUSH', tag .. 'q' .. rank .. ':' .. host.name, value)
  state.queued = state.queued + 1
  has_changed = true
  local ranks, place = host.record[RANKS], 1
  while ranks[place] and ranks[place] < rank do
    place = place + 1
  end
  -- Most links go to hosts that have such already: then the record stays as it is.
  if ranks[place] ~= rank then
    table.insert(ranks, place, rank)
    host.is_dirty = true
  end
  if rank == 0 then
    -- A robots.txt needs no permission, so it need not wait for this host's own.
    host.record[PARKED_UNTIL] = 0
    host.is_dirty = true
  end
end

-- A rank of which nothing is left is no rank of the host.
local function close_rank(host, rank)
  if call('EXISTS', tag .. 'q' .. rank .. ':' .. host.name) == 0 then
    local ranks = host.record[RANKS]
    for place = #ranks, 1, -1 do
      if ranks[place] == rank then
        table.remove(ranks, place)
      end
    end
  end
end

local function dequeue(host, rank, value)
  local queue = tag .. 'q' .. rank .. ':' .. host.name
  if value == '' then
    -- Nothing comes before what was leased.
    call('LPOP', queue)
  else
    -- Depth first: others came before it meanwhile. They are few, so it is near the head.
    assert(call('LREM', queue, 1, value) == 1, 'a leased target is queued')
  end
  state.queued = state.queued - 1
  close_rank(host, rank)
end

-- ---- what somebody else wrote

local function set_aside(value)
  call('RPUSH', tag .. 'p', value)
  state.poisoned = (state.poisoned or 0) + 1
  has_changed = true
end

-- An array of ours, or nothing.
local function readable(packed)
  local is_whole, value = pcall(cmsgpack.unpack, packed)
  return is_whole and type(value) == 'table' and value or nil
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

-- The fingerprint of a target as a known URL: a signed integer of 64 bits in decimal, more than a number of Lua holds.
local function number_of(fingerprint)
  local high, low = struct.unpack('>I4I4', fingerprint)
  local sign = ''
  if high >= 2 ^ 31 then
    sign, high, low = '-', 2 ^ 32 - 1 - high, 2 ^ 32 - low
    if low == 2 ^ 32 then
      high, low = high + 1, 0
    end
  end
  local digits = ''
  repeat
    local rest = high % 1e6 * 2 ^ 32 + low
    high, low = math.floor(high / 1e6), math.floor(rest / 1e6)
    digits = string.format('%06d', rest % 1e6) .. digits
  until high == 0 and low == 0
  digits = string.gsub(digits, '^0+', '')
  return digits == '' and '0' or sign .. digits
end

local function forget_url(number)
  call('SREM', bucket_of(number), number)
  state.known = state.known - 1
end

-- ---- queues with a limit

-- Drop the last of a host's least important queue, if it is of a lower rank than another that wants its place. What is
-- under way or was visited before stays.
local function evict(host, rank)
  local worst, lease = host.record[RANKS][#host.record[RANKS]], host.record[LEASE]
  if rank >= worst then
    return false
  end
  local queue = tag .. 'q' .. worst .. ':' .. host.name
  local value = call('LINDEX', queue, -1)
  local is_first = lease and lease[VALUE] == '' and call('LLEN', queue) == 1
  local is_under_way = lease and lease[RANK] == worst and (is_first or lease[VALUE] == value)
  local entry = readable(value)
  local is_page = entry and type(entry[2]) == 'string' and #entry[2] == 8
  if is_under_way or not is_page or call('HEXISTS', tag .. 'y', entry[2]) == 1 then
    return false
  end
  call('RPOP', queue)
  state.queued = state.queued - 1
  close_rank(host, worst)
  forget_url(number_of(entry[2]))
  return true
end

-- Whether the queue of a host takes one more target.
local function make_room(host, rank)
  if args.max_queued == 0 then
    return true
  end
  if not host.queued then
    host.queued = 0
    for _, each in ipairs(host.record[RANKS]) do
      host.queued = host.queued + call('LLEN', tag .. 'q' .. each .. ':' .. host.name)
    end
  end
  if host.queued < args.max_queued then
    host.queued = host.queued + 1
    return true
  end
  state.dropped = state.dropped + 1
  host.record[DROPPED], host.is_dirty = host.record[DROPPED] + 1, true
  return evict(host, rank)
end

-- Groups of {host, point, region, {number, rank, value}...}; an errand has no number: it may come again and again.
local function add_targets(groups)
  local added = 0
  for _, group in ipairs(groups) do
    local host
    for place = 4, #group do
      local target = group[place]
      local is_errand = target[1] == ''
      if is_errand or is_new(target[1]) then
        host = host or get_host(group[1], group[2], group[3])
        if is_errand then
          enqueue(host, target[2], target[3])
        elseif make_room(host, target[2]) then
          enqueue(host, target[2], target[3])
          added = added + 1
        else
          forget_url(target[1])
        end
      end
    end
  end
  has_changed = has_changed or #groups > 0
  return added
end

-- ---- robots.txt

-- What was learnt of an origin: {host, point, mark, fetched_at, expires_at, is_pending, crawl_delay, origin, record,
-- region}.
-- The same decisions as `frontier/rules.py: learn`; the twins test holds them together.
local function learn(news)
  local host = get_host(news[1], news[2], news[10])
  local crawl_delay, kept = news[7], {}
  for _, origin in ipairs(host.record[ORIGINS]) do
    if origin[MARK] ~= news[3] then
      kept[#kept + 1] = origin
    elseif news[6] then
      -- While robots.txt cannot be read its last wish still holds.
      crawl_delay = origin[ITS_CRAWL_DELAY]
    end
  end
  kept[#kept + 1] = { news[3], news[4], news[5], news[6], crawl_delay }
  while #kept > args.max_origins do
    table.remove(kept, 1)
  end
  local longest = 0
  for _, origin in ipairs(kept) do
    longest = math.max(longest, origin[ITS_CRAWL_DELAY])
  end
  host.record[ORIGINS], host.record[CRAWL_DELAY], host.is_dirty = kept, longest, true
  if news[9] ~= '' then
    call('HSET', tag .. 't', news[8], news[9])
  end
  if not news[6] then
    host.record[PARKED_UNTIL] = 0
  end
end

-- ---- domains

-- Kept this much longer than it matters: `frontier/spacing.py` has the rules, the twins test holds them together.
local KEPT_SECONDS = 10

local function domain_key(record)
  return tag .. 'u' .. name_of(record[POINT])
end

-- A request goes out now.
local function note_domain(record, token)
  call('SET', domain_key(record), cmsgpack.pack({ now, token, record[ADDRESS] }),
    'PX', math.ceil((record[DELAY] + KEPT_SECONDS) * 1000))
end

-- Nothing was sent under this lease.
local function undo_domain(record, token)
  local unit = call('GET', domain_key(record))
  if unit and cmsgpack.unpack(unit)[2] == token then
    call('DEL', domain_key(record))
  end
end

-- ---- leases

-- The lease with its host, or nothing if it is gone: settled, expired, given back.
local function end_lease(token, name)
  local host = find_host(name)
  local lease = host and host.record[LEASE]
  if not lease or lease[TOKEN] ~= token then
    return nil
  end
  call('ZREM', tag .. 'e', lease[MEMBER])
  are_leases_touched = true
  state.leased = state.leased - 1
  state.leased_pages = state.leased_pages - (lease[IS_PAGE] and 1 or 0)
  host.record[LEASE], host.is_dirty = false, true
  return lease, host
end

-- A request went out.
local function has_been_asked(record)
  if state.is_balanced then
    record[RING] = -1
  end
end

-- A lease ends without a settlement: its target is still queued, its host rests as if it had been asked.
local function give_back(token, name)
  local _, host = end_lease(token, name)
  has_been_asked(host.record)
  host.record[FREE_AT] = now + host.record[DELAY]
  note_domain(host.record, token)
end

-- A lease ends before anything was sent: nobody has been asked.
local function unask(host, lease)
  host.record[FREE_AT] = lease[FREE_AT_BEFORE]
  undo_domain(host.record, lease[TOKEN])
end

-- Members of the deadline index name the lease, whose it is, since which ring, and its host.
local function read_member(member)
  local token, node, ring, name = string.match(member, '^(%d+):(%d+):(%d+):(.*)$')
  return tonumber(token), name, tonumber(node), tonumber(ring)
end

-- ---- the reply of every verb: the partition's state, what changed for whom, then what the verb has to say

local function head_of(key)
  local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return head[2] and tonumber(head[2]) or -1
end

local function first_due()
  local first = -1
  for _, node in ipairs(all_nodes()) do
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
  return { packed_state, cmsgpack.pack(heads), cmsgpack.pack({ now, changes_before }), cmsgpack.pack(answer), ... }
end
