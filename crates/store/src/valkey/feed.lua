-- Events behind a position in each of several feeds. KEYS: feeds. ARGV: limit, then an id for each feed.
local answers = {}
for i = 1, #KEYS do
  local after = ARGV[i + 1]
  local events = redis.call('XRANGE', KEYS[i], '(' .. after, '+', 'COUNT', ARGV[1])
  local answer = {}
  for at = 1, #events do
    answer[2 * at - 1] = events[at][1]
    answer[2 * at] = events[at][2][2]
  end
  local newest = false
  if #events == 0 and after ~= '0-0' then
    -- A position that was never reached belongs to a past that was undone.
    local last = redis.call('XREVRANGE', KEYS[i], '+', '-', 'COUNT', 1)[1]
    newest = last and last[1] or '0-0'
  end
  answers[i] = { newest, answer }
end
return answers
