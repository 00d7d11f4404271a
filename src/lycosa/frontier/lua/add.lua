-- add: make targets known; also what other partitions' visits have to say here: news of robots.txt, contents stored.

local added = add_targets(args.groups)
for _, news in ipairs(args.news) do
  learn(news)
end
for _, content in ipairs(args.contents) do
  call('HSET', tag .. 'c', content[1], content[2])
  call('HDEL', tag .. 'k', content[1])
  has_changed = true
end
return reply(added)
