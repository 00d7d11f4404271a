-- agree: settings and seeds in force; a newer version is taken in only by whoever knows the one it replaces.
-- KEYS[1] is the crawl's tag, `s` the hash of them.

local key, call = KEYS[1] .. 's', redis.call
local args = cmsgpack.unpack(ARGV[1])
local version = tonumber(call('HGET', key, 'version') or 0)
if args.settings and args.version == version then
  version = version + 1
  call('HSET', key, 'version', version, 'settings', args.settings, 'seeds', args.seeds)
end
return { version, call('HGET', key, 'settings') or '', call('HGET', key, 'seeds') or '' }
