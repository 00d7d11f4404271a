-- ring: which workers look after the hosts, and how these are assigned, from now on. Hosts move when they are next
-- looked at.

if args.version > state.ring then
  for region in pairs(state.rings) do
    call('DEL', tag .. 'g' .. region)
  end
  state.rings = {}
  for region, entries in pairs(args.rings) do
    state.rings[region] = #entries / ENTRY_BYTES
    call('SET', tag .. 'g' .. region, entries)
  end
  state.ring, state.is_balanced = args.version, args.is_balanced
  call('SET', tag .. 'o', cmsgpack.pack(args.nodes))
  call('SET', tag .. 'j', cmsgpack.pack(args.regions))
  nodes, regions = args.nodes, args.regions
  has_changed = true
end
return reply(0)
