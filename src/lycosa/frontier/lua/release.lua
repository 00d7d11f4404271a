-- release: give back the leases of workers that are gone; of those that will not come back, also pass on their hosts.

local MAX_PASSED_ON = 1000

local gone, given_back = {}, {}
for _, node in ipairs(args.nodes) do
  gone[node] = true
end
for _, member in ipairs(call('ZRANGE', tag .. 'e', 0, -1)) do
  local token, name, node, ring = read_member(member)
  -- Under a later ring somebody else may bear the number of the one that is gone.
  if gone[node] and ring < args.before_ring then
    give_back(token, name)
    given_back[#given_back + 1] = token
  end
end

-- By then the ring without them is in force here, so each host goes to its next owner.
local passed_on = 0
if args.is_for_good then
  for _, node in ipairs(args.nodes) do
    for _, name in ipairs(call('ZRANGE', tag .. 'r' .. node, 0, MAX_PASSED_ON - 1)) do
      find_host(name).is_dirty = true
      passed_on = passed_on + 1
    end
  end
end
return reply({ given_back, passed_on })
