-- agree: settings and seeds in force; a newer version is taken in only by whoever knows the one it replaces.

local version = tonumber(call('HGET', tag .. 's', 'version') or 0)
if args.settings and args.version == version then
  version = version + 1
  call('HSET', tag .. 's', 'version', version, 'settings', args.settings, 'seeds', args.seeds)
end
return { version, call('HGET', tag .. 's', 'settings') or '', call('HGET', tag .. 's', 'seeds') or '' }
