-- settle: record how visits ended. What they discovered in other partitions is there already.

local pace = args.pace

-- The host's pause after a visit, as `policy/politeness.py` has it; the twins test holds them together.
local function rest(record, pause)
  local own = math.min(math.max(pace.factor * pause.fetch, pace.min_delay), pace.max_delay)
  local delay = math.max(own, math.min(record[CRAWL_DELAY], pace.max_crawl_delay))
  local failures = pause.is_trouble and record[FAILURES] + 1 or 0
  local seconds = math.max(delay, pause.retry_after)
  if failures > 0 then
    local doubled = math.min(delay * 2 ^ math.min(failures, 32), pace.max_backoff)
    local circuit = failures >= pace.circuit_failures and pace.circuit or 0
    seconds = math.max(seconds, doubled, circuit)
  end
  record[FAILURES], record[FETCH], record[DELAY], record[FREE_AT] = failures, pause.fetch, seconds, now + seconds
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
      rest(host.record, visit.pause)
      host.record[ADDRESS] = visit.address
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
    add_targets(visit.groups)
  end
end
return reply(late)
