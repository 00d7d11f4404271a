-- own: a partition changes hands. KEYS[1] is its tag, `f` its fence: whoever changes it shuts out whoever had it.
-- Returns 1 if the fence is `args.to` now, 0 if it was not `args.from`, -1 if there is none: then its data are lost.

local fence, args = KEYS[1] .. 'f', cmsgpack.unpack(ARGV[1])
local found = redis.call('GET', fence)
if not found then
  return -1
end
-- Asked twice if the first answer was lost.
if found == args.to then
  return 1
end
if found ~= args.from then
  return 0
end
redis.call('SET', fence, args.to)
return 1
