-- site: the newest notes on a registered domain, which is named by its point on the ring.

return call('HGET', tag .. 'w', args.point) or ''
