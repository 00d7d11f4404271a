-- What all partitions share: who takes part, and how many pages are left to give out. One small key of the cluster.
-- This file stands before the verbs of the crawl as a whole.
--
-- KEYS[1] is the crawl's tag, `{lycosa:<crawl>}`:
--   c      the crawl: its id, key and number of partitions
--   m, b   number -> machine; when each machine was last heard, on the clock below
--   u      a clock that stands still while nobody is heard, and the moment it was last looked at
--   v      the ring: its version, its nodes, and the version that all partitions have
--   x      node -> the ring version since which it is gone: its leases and hosts are still to be passed on
--   s      the settings and seeds, with their version
--   p      the page budget

local tag, call = KEYS[1], redis.call
local args = cmsgpack.unpack(ARGV[1])

local packed_crawl = call('GET', tag .. 'c')
if not packed_crawl or cmsgpack.unpack(packed_crawl).id ~= args.id then
  return redis.error_reply('LOST the crawl is not there')
end

local now = args.now
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1e6
end

local NODES_PER_MACHINE = 1024

local packed_ring = call('GET', tag .. 'v')
local ring = packed_ring and cmsgpack.unpack(packed_ring) or { version = 0, nodes = {}, regions = {}, everywhere = 0 }

local function machines()
  local found, packed = {}, call('HGETALL', tag .. 'm')
  for place = 1, #packed, 2 do
    found[tonumber(packed[place])] = cmsgpack.unpack(packed[place + 1])
  end
  return found
end

local function forget(number)
  call('HDEL', tag .. 'm', number)
  call('ZREM', tag .. 'b', number)
end

-- While the store was away nobody could be heard, and nobody was silent: that time does not count.
local function heard_clock()
  local clock, looked_at = 0, now
  local packed = call('GET', tag .. 'u')
  if packed then
    clock, looked_at = unpack(cmsgpack.unpack(packed))
  end
  clock = clock + math.min(math.max(now - looked_at, 0), args.silence_seconds / 3)
  call('SET', tag .. 'u', cmsgpack.pack({ clock, now }))
  return clock
end

-- The machines whose heart stopped are gone.
local function forget_the_silent(clock)
  local silent = call('ZRANGEBYSCORE', tag .. 'b', '-inf', clock - args.silence_seconds)
  for _, number in ipairs(silent) do
    forget(number)
  end
  return #silent > 0
end

-- A new ring over the machines that are left. Every node of the old one whose bearer changed is to be cleaned up after.
local function redraw(bearers_changed)
  local nodes, stays, region_of = {}, {}, {}
  for number, machine in pairs(machines()) do
    for worker = 0, machine.workers - 1 do
      local node = number * NODES_PER_MACHINE + worker
      nodes[#nodes + 1] = node
      stays[node] = not bearers_changed[number]
      region_of[node] = machine.region or ''
    end
  end
  -- Nobody is left: the next one to come finds the old nodes here.
  if #nodes == 0 then
    return
  end
  ring.version = ring.version + 1
  for _, node in ipairs(ring.nodes) do
    if not stays[node] then
      call('HSET', tag .. 'x', node, ring.version)
    end
  end
  table.sort(nodes)
  ring.nodes, ring.regions = nodes, {}
  for place, node in ipairs(nodes) do
    ring.regions[place] = region_of[node]
  end
  call('SET', tag .. 'v', cmsgpack.pack(ring))
end

local function outlook()
  local gone, packed = {}, call('HGETALL', tag .. 'x')
  for place = 1, #packed, 2 do
    gone[#gone + 1] = { tonumber(packed[place]), tonumber(packed[place + 1]) }
  end
  local lowest
  for number in pairs(machines()) do
    lowest = (not lowest or number < lowest) and number or lowest
  end
  return {
    number = args.number or -1, version = ring.version, nodes = ring.nodes, regions = ring.regions or {}, everywhere = ring.everywhere, gone = gone,
    lowest = lowest or -1, settings_version = tonumber(call('HGET', tag .. 's', 'version') or 0), now = now,
  }
end
