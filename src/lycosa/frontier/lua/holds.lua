-- holds: whether a lease is still out.

local prefix = string.format('%.0f:', args.token)
for _, member in ipairs(call('ZRANGE', tag .. 'e', 0, -1)) do
  if string.sub(member, 1, #prefix) == prefix then
    return 1
  end
end
return 0
