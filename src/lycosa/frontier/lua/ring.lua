-- ring: which workers look after the hosts, and how these are assigned, from now on. Hosts move when they are next
-- looked at.

if args.version > state.ring then
  state.ring, state.ring_entries = args.version, #args.entries / ENTRY_BYTES
  state.is_balanced = args.is_balanced
  call('SET', tag .. 'g', args.entries)
  call('SET', tag .. 'o', cmsgpack.pack(args.nodes))
  nodes = args.nodes
  has_changed = true
end
return reply(0)
