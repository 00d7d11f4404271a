-- settle: record how visits ended. What they discovered in other partitions is there already.

local pace = args.pace

-- How we stand with a host after one more answer, as `policy/politeness.py` has it; the twins test holds them together.
-- Returns whether it told us to go away.
local function stand(record, answer, reason)
  local refusals = record[REFUSALS]
  if answer == 'page' then
    refusals = 0
  elseif refusals >= 0 and answer ~= 'trouble' and answer ~= 'ban' then
    refusals = answer == 'refused' and refusals + 1 or 0
  end
  local is_ban = answer == 'ban' or (answer == 'refused' and refusals >= pace.ban_refusals)
  if is_ban then
    record[SLOWDOWN] = math.min(2 * record[SLOWDOWN], pace.max_slowdown)
  elseif answer == 'page' then
    record[SLOWDOWN] = math.max(1, pace.recovery * record[SLOWDOWN])
  end
  record[FAILURES] = (is_ban or answer == 'trouble') and record[FAILURES] + 1 or 0
  record[REFUSALS] = refusals
  if is_ban or record[FAILURES] == 0 then
    record[BAN] = is_ban and reason or ''
  end
  return is_ban
end

-- The host's pause after a visit.
local function rest(record, pause)
  local own = math.min(math.max(pace.factor * pause.fetch, pace.min_delay), pace.max_delay)
  local delay = math.max(own, math.min(record[CRAWL_DELAY], pace.max_crawl_delay))
  local is_ban = stand(record, pause.answer, pause.reason)
  local failures = record[FAILURES]
  local slowed = math.max(delay, math.min(delay * record[SLOWDOWN], pace.max_delay))
  local seconds = math.max(slowed, pause.retry_after)
  if failures > 0 then
    local doubled = math.min(delay * 2 ^ math.min(failures, 32), pace.max_backoff)
    local circuit = failures >= pace.circuit_failures and pace.circuit or 0
    seconds = math.max(seconds, doubled, circuit)
  end
  record[FETCH], record[DELAY], record[FREE_AT] = pause.fetch, seconds, now + seconds
  has_been_asked(record)
  return is_ban
end

-- As if it had taken so long, where no connection came about.
local UNREACHED_SECONDS = 60
-- A host moves to another region only if that is so much nearer; else it would go to and fro.
local CLEARLY_NEARER = 0.7

-- Which region should have a host: each asks it once, then the one that connects fastest.
local function nearest(record)
  local best, untried
  for region in pairs(state.rings) do
    local seconds = record[MEASURED][region]
    if region ~= '' and not seconds then
      untried = (not untried or region < untried) and region or untried
    elseif region ~= '' and (not best or seconds < record[MEASURED][best]) then
      best = region
    end
  end
  local now_at = state.rings[record[NEAREST]] and record[MEASURED][record[NEAREST]]
  if untried or not best or not now_at or record[MEASURED][best] < CLEARLY_NEARER * now_at then
    return untried or best or ''
  end
  return record[NEAREST]
end

local function measure(record, seconds)
  record[MEASURED] = record[MEASURED] or {}
  local before = record[MEASURED][args.measures]
  if seconds <= 0 and not before and record[FAILURES] > 0 then
    seconds = UNREACHED_SECONDS
  end
  if seconds > 0 then
    record[MEASURED][args.measures] = before and (before + seconds) / 2 or seconds
  end
  local region = nearest(record)
  if region ~= record[NEAREST] then
    record[NEAREST], record[RING] = region, -1
  end
end

local function retry_later(host, retry)
  state.serial = state.serial + 1
  call('ZADD', tag .. 'd', math.max(now + retry.pause, host.record[FREE_AT]),
    cmsgpack.pack({ state.serial, host.name, retry.rank, retry.value }))
  state.delayed = state.delayed + 1
  are_retries_touched = true
end

-- Known to be late before they were sent.
if args.strangers > 0 then
  state.late, has_changed = state.late + args.strangers, true
end

local names = {}
for place, visit in ipairs(args.visits) do
  names[place] = visit.host
end
find_hosts(names)

local late = {}
for _, visit in ipairs(args.visits) do
  local ended, host = end_lease(visit.token, visit.host)
  if not ended then
    late[#late + 1] = visit.token
    -- Sent again since the first answer never came: it was not late then.
    state.late = state.late + (args.is_again and 0 or 1)
    has_changed = true
  else
    for _, news in ipairs(visit.news) do
      learn(news)
    end
    if visit.pause then
      local is_ban = rest(host.record, visit.pause)
      if is_ban and visit.if_ban then
        visit.retry, visit.history = visit.if_ban.retry, visit.if_ban.history
      end
      host.record[ADDRESS] = visit.address
      if args.measures and args.measures ~= '' then
        measure(host.record, visit.connect)
      end
    else
      unask(host, ended)
    end
    if ended[RANK] >= 0 then
      dequeue(host, ended[RANK], ended[VALUE])
    end
    if visit.retry then
      retry_later(host, visit.retry)
    else
      state[visit.outcome] = state[visit.outcome] + 1
    end
    if visit.history ~= '' then
      call('HSET', tag .. 'y', visit.fingerprint, visit.history)
    end
    state.fetched_bytes = state.fetched_bytes + visit.body_bytes
    if visit.site then
      call('HSET', tag .. 'v', name_of(visit.site[1]), name_of(visit.site[2]))
      call('HSET', tag .. 'w', name_of(visit.site[1]), visit.site[3])
    end
    for _, number in ipairs(visit.known) do
      is_new(number)
    end
    add_targets(visit.groups)
  end
end
return reply(late)
