-- recall: take back the pages this partition was granted and does not need now. An older ticket changes nothing: the
-- partition has been granted more since.

if args.ticket <= state.ticket then
  return reply(-1)
end
state.ticket = args.ticket
state.granted = state.stored + state.unchanged + state.duplicate + state.leased_pages
has_changed = true
return reply(state.granted)
