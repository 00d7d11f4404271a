-- release: give back the leases of workers that are gone; of those that will not come back, also pass on their hosts.

local MAX_PASSED_ON = 1000

local gone, given_back = {}, {}
for _, node in ipairs(args.nodes) do
  gone[node] = true
end
for _, member in ipairs(call('ZRANGE', tag .. 'e', 0, -1)) do
  local token, node, ring = string.match(member, '^(%d+):(%d+):(%d+)$')
  -- Under a later ring somebody else may bear the number of the one that is gone.
  if gone[tonumber(node)] and tonumber(ring) < args.before_ring then
    give_back(token)
    given_back[#given_back + 1] = tonumber(token)
  end
end

-- By then the ring without them is in force here, so each host goes to its next owner.
local passed_on = 0
if args.is_for_good then
  for _, node in ipairs(args.nodes) do
    for _, name in ipairs(call('ZRANGE', tag .. 'r' .. node, 0, MAX_PASSED_ON - 1)) do
      get_host(name)
      passed_on = passed_on + 1
    end
  end
end
return reply({ given_back, passed_on })
