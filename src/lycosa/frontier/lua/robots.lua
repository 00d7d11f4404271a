-- robots: the record in force for an origin.

return call('HGET', tag .. 't', args.origin) or ''
