-- members: who takes part. One script for a machine that joins, is alive, or leaves (args.verb).
--
-- KEYS[1] is the crawl's tag:
--   c      the crawl; if it is not there, or another one, its data are lost
--   m, b   number -> machine; when each machine was last heard, on the clock below
--   u      a clock that stands still while nobody is heard, and the moment it was last looked at
--   asked  nonce -> how many leases each worker of that machine has had, also of those who left
--   s      the settings and seeds, with their version
--   p      what was granted of the page limit (see `grant.lua`)
-- Answers with all machines that are left; number -1 if the caller is none of them, false if the crawl is lost.

local tag, call = KEYS[1], redis.call
local args = cmsgpack.unpack(ARGV[1])

local crawl = call('GET', tag .. 'c')
if not crawl or cmsgpack.unpack(crawl).id ~= args.id then
  return false
end

local now = args.now
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1e6
end

-- While the store was away nobody could be heard, and nobody was silent: that time does not count.
local clock, looked_at = 0, now
local packed = call('GET', tag .. 'u')
if packed then
  clock, looked_at = unpack(cmsgpack.unpack(packed))
end
clock = clock + math.min(math.max(now - looked_at, 0), args.silence_seconds / 3)
call('SET', tag .. 'u', cmsgpack.pack({ clock, now }))

local function forget(number)
  call('HDEL', tag .. 'm', number)
  call('ZREM', tag .. 'b', number)
end

for _, number in ipairs(call('ZRANGEBYSCORE', tag .. 'b', '-inf', clock - args.silence_seconds)) do
  forget(number)
end

local machines, flat = {}, call('HGETALL', tag .. 'm')
for place = 1, #flat, 2 do
  machines[tonumber(flat[place])] = cmsgpack.unpack(flat[place + 1])
end

local mine = -1
for number, machine in pairs(machines) do
  if machine.nonce == args.machine.nonce then
    mine = number
  elseif args.verb == 'join' and machine.name == args.machine.name then
    -- Its own past: the folder's lock says that it is dead.
    forget(number)
    machines[number] = nil
  end
end

if mine >= 0 then
  call('HSET', tag .. 'asked', args.machine.nonce, cmsgpack.pack(args.asked))
end

if args.verb == 'leave' and mine >= 0 then
  forget(mine)
  machines[mine], mine = nil, -1
elseif args.verb == 'join' and mine < 0 then
  mine = 0
  while machines[mine] do
    mine = mine + 1
  end
end

if mine >= 0 then
  machines[mine] = args.machine
  call('HSET', tag .. 'm', mine, cmsgpack.pack(args.machine))
  call('ZADD', tag .. 'b', clock, mine)
end

local rows = {}
for number, machine in pairs(machines) do
  rows[#rows + 1] = { number, machine.name, machine.nonce, machine.workers, machine.region, machine.waits_for, machine.idle_until }
end
local version, granted = call('HGET', tag .. 's', 'version'), call('HGET', tag .. 'p', 'granted')
return cmsgpack.pack({ mine, rows, tonumber(version or 0), now, tonumber(granted or 0) })
