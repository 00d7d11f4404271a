-- readmit: queue visited pages once more. A page whose history is not as it was read has been queued by somebody else.

local queued = 0
for _, page in ipairs(args.pages) do
  if call('HGET', tag .. 'y', page.fingerprint) == page.before then
    call('HSET', tag .. 'y', page.fingerprint, page.after)
    enqueue(get_host(page.host, page.point, page.region), page.rank, page.value)
    queued = queued + 1
  end
end
return reply(queued)
