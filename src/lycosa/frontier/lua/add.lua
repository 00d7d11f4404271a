-- add: make targets known; also what visits of other partitions learnt of robots.txt here.

local added = add_targets(args.groups)
for _, news in ipairs(args.news) do
  learn(news)
end
return reply(added)
