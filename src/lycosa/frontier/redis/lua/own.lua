-- own: a partition changes hands. KEYS[1] is its tag, `f` its fence: whoever changes it shuts out whoever had it.
-- ARGV[2] is what it was, ARGV[3] what it is to be.
-- Returns 1 if the fence is that now, 0 if it was something else, -1 if there is none: then its data are lost.

local fence, before, after = KEYS[1] .. 'f', ARGV[2], ARGV[3]
local found = redis.call('GET', fence)
if not found then
  return -1
end
-- Asked twice if the first answer was lost.
if found == after then
  return 1
end
if found ~= before then
  return 0
end
redis.call('SET', fence, after)
return 1
