-- keep: these contents are stored, each under its URL; so nobody holds a claim to them any more.

for _, content in ipairs(args.contents) do
  call('HSET', tag .. 'c', content[1], content[2])
  call('HDEL', tag .. 'k', content[1])
end
return 0
