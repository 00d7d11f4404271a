-- join: a machine takes part. One of the same name is its own past: the folder's lock says that it is dead.

local clock = heard_clock()
forget_the_silent(clock)
local changed = {}
for number, machine in pairs(machines()) do
  if machine.name == args.name then
    forget(number)
  end
end
local taken, number = machines(), 0
while taken[number] do
  number = number + 1
end
-- Whoever bore this number before, its leases are not ours.
changed[number] = true
call('HSET', tag .. 'm', number, cmsgpack.pack({ name = args.name, nonce = args.nonce, workers = args.workers, region = args.region }))
call('ZADD', tag .. 'b', clock, number)
redraw(changed)
args.number = number
return cmsgpack.pack(outlook())
