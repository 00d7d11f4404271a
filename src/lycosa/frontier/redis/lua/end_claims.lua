-- end_claims: end claims to contents, each unless somebody else has it by now than who held it.
-- KEYS[1] is the tag, ARGV are pairs: the key of a claim, and who held it.

for place = 1, #ARGV, 2 do
  if redis.call('GET', ARGV[place]) == ARGV[place + 1] then
    redis.call('DEL', ARGV[place])
  end
end
return 0
