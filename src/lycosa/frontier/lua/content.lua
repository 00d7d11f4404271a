-- What has been stored, and who may store it first. Kept apart from hosts and counters: every page asks once, and to
-- read and write a partition's state would cost more than the answer.
--
-- KEYS[1] is the tag of the partition of the content's digest.

local tag, call = KEYS[1], redis.call
local args = cmsgpack.unpack(ARGV[1])
