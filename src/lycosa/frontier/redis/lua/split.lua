-- split: more buckets for known URLs, each made of half of an older one (linear hashing, see known.py).
--
-- KEYS[1] is the partition's tag, `s` and a number the bucket. ARGV: by how much the number of a new bucket is greater
-- than that of the one it is made of, the first to split, and the last. Done twice, it is done once.

local tag, call = KEYS[1], redis.call
local level, first, last = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
-- A set that was larger than this is no array, and never becomes one again.
local MAX_ARRAY_ENTRIES = 512
-- What Lua can hand to one command is limited.
local AT_ONCE = 500

local function all(command, key, numbers)
  for start = 1, #numbers, AT_ONCE do
    call(command, key, unpack(numbers, start, math.min(start + AT_ONCE - 1, #numbers)))
  end
end

for bucket = first, last do
  local old, new = tag .. 's' .. bucket, tag .. 's' .. (bucket + level)
  local members, stays, moves = call('SMEMBERS', old), {}, {}
  for _, number in ipairs(members) do
    -- 64 bits are more than a number of Lua holds; the last nine digits are enough, without a sign.
    if math.abs(tonumber(string.sub(number, -9))) % (2 * level) == bucket + level then
      moves[#moves + 1] = number
    else
      stays[#stays + 1] = number
    end
  end
  if #members > MAX_ARRAY_ENTRIES then
    call('DEL', old)
    all('SADD', old, stays)
  else
    all('SREM', old, moves)
  end
  all('SADD', new, moves)
end
return last - first + 1
