-- break_claim: end the claim of a machine that is dead, unless somebody else has it by now. KEYS[1] is the tag.

local args = cmsgpack.unpack(ARGV[1])
if redis.call('GET', args.key) == args.holder then
  return redis.call('DEL', args.key)
end
return 0
