-- reserve: may these leases ask their addresses now? Returns for each when it may: 0 for now, else a place in line.
--
-- An address is asked about by all machines, so this is the one place that knows. KEYS[1] is the tag of a partition, `a`
-- and an address the key. Times are the servers': those of two differ by as much as their clocks do.
-- With `is_undone`, nothing was sent under these leases: as if they had not asked.

local KEPT_SECONDS = 10

local tag, call = KEYS[1], redis.call
local args = cmsgpack.unpack(ARGV[1])
local now = args.now
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1e6
end

local answers = {}
for place, want in ipairs(args.wants) do
  local key, token = tag .. 'at' .. want[1], want[2]
  local packed = call('GET', key)
  -- When it was asked last, under which lease, and the last moment that was promised to somebody.
  local last = packed and cmsgpack.unpack(packed) or { 0, 0, 0 }
  if args.is_undone then
    if last[2] == token then
      last[1], last[2] = 0, 0
    end
  elseif last[2] == token or last[1] + args.gap <= now then
    last[1], last[2], answers[place] = now, token, 0
  else
    last[3] = math.max(last[3], last[1]) + args.gap
    answers[place] = last[3]
  end
  local until_at = math.max(last[1], last[3], now) + args.gap + KEPT_SECONDS
  call('SET', key, cmsgpack.pack(last), 'PX', math.ceil((until_at - now) * 1000))
end
return cmsgpack.pack(answers)
