-- What is looked up by its key: contents and who may store them first, robots records. Kept apart from hosts and
-- counters, since every page asks: to read and write a partition's state would cost more than the answer.
--
-- KEYS[1] is the tag of the partition: of the content's digest, or of the origin's host.

local tag, call = KEYS[1], redis.call
local args = cmsgpack.unpack(ARGV[1])
