-- Events behind a position in each of several feeds. KEYS: feeds. ARGV: limit, then an id for each feed.
-- Each answer: the newest id when nothing is behind the position, the event at the position when something is, the events.
local answers = {}
for i = 1, #KEYS do
  local after = ARGV[i + 1]
  local events = redis.call('XRANGE', KEYS[i], after, '+', 'COUNT', ARGV[1] + 1)
  local first, anchor = 1, false
  if #events > 0 and events[1][1] == after then
    first, anchor = 2, events[1][2][2]
  end
  local answer = {}
  for at = first, math.min(#events, ARGV[1] + first - 1) do
    answer[#answer + 1] = events[at][1]
    answer[#answer + 1] = events[at][2][2]
  end
  local newest = false
  if #answer == 0 then
    anchor = false
    if after ~= '0-0' then
      -- A position that was never reached belongs to a past that was undone.
      local last = redis.call('XREVRANGE', KEYS[i], '+', '-', 'COUNT', 1)[1]
      newest = last and last[1] or '0-0'
    end
  end
  answers[i] = { newest, anchor, answer }
end
return answers
