-- Checks and writes a group of batches of one tag, each on its own. KEYS: records, index, channel, then feeds and logs.
-- ARGV: the message for listeners, then the batches; each starts with a header of fixed size that counts what follows.
local STEP = 1000 -- Lua can hand over only so many values in one call.
local HEADER = '>ddI4I4I4I4I4I4I4I4I4ddc2'

local records, index = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function in_steps(command, key, list)
  for from = 1, #list, STEP do
    redis.call(command, key, unpack(list, from, math.min(from + STEP - 1, #list)))
  end
end

local function held_records(at, count)
  if count == 1 then
    return { redis.call('HGET', records, ARGV[at]) }
  end
  local held = {}
  for from = 0, count - 1, STEP do
    local part = redis.call('HMGET', records, unpack(ARGV, at + from, at + math.min(from + STEP, count) - 1))
    for i = 1, #part do
      held[from + i] = part[i]
    end
  end
  return held
end

-- Writes the places that only one of two values has; both start with what decides them.
local function relist(key, old, new, gone, added)
  local before, after = old and places(old, key) or {}, new and places(new, key) or {}
  local had, has = {}, {}
  for i = 1, #before do had[before[i]] = true end
  for i = 1, #after do
    local place = after[i]
    has[place] = true
    if not had[place] then
      added[#added + 1] = '0'
      added[#added + 1] = place
    end
  end
  for i = 1, #before do
    if not has[before[i]] then gone[#gone + 1] = before[i] end
  end
end

local function same_places(old, new)
  local length = byte(old, 19) * 256 + byte(old, 20)
  return sub(old, 19, 20 + length) == sub(new, 19, 20 + length)
end

-- A position is 16 high and 48 low bits, and so is the id of an event: exact in Lua's numbers, and next by `high-*`.
local function newest(feed)
  local last = redis.call('XREVRANGE', feed, '+', '-', 'COUNT', 1)[1]
  if not last then return 0, 0 end
  local high, low = string.match(last[1], '(%d+)-(%d+)')
  return tonumber(high), tonumber(low)
end

local function add_events(feed, at, count, high, low)
  local id = '0-*'
  if high > 0 or low > 0 then
    local last_high, last_low = newest(feed)
    if last_high > high or (last_high == high and last_low >= low) then
      id = string.format('%.0f-*', last_high)
    else
      id = string.format('%.0f-%.0f', high, low)
    end
  end
  for i = at, at + count - 1 do
    local done = redis.pcall('XADD', feed, id, 'e', ARGV[i])
    if type(done) == 'table' and done.err then
      -- Positions were raised once.
      id = string.format('%.0f-*', (newest(feed)))
      redis.call('XADD', feed, id, 'e', ARGV[i])
    elseif i == at and sub(id, -1) ~= '*' then
      id = string.format('%.0f-*', high)
    end
  end
end

-- The newest event stays, so that positions never start again.
local function trim_feed(feed, high, low)
  local last_high, last_low = newest(feed)
  if high > last_high or (high == last_high and low > last_low) then
    high, low = last_high, last_low
  end
  return redis.call('XTRIM', feed, 'MINID', '=', string.format('%.0f-%.0f', high, low))
end

local function apply(at)
  local from, till, span, expects, deletes, puts, logs, events, trims, mends, feed, high, low, partition =
    struct.unpack(HEADER, ARGV[at])
  local next_at = at + 1 + span
  if now < from or now >= till then return next_at, { 2 } end
  local keys, versions = at, at + expects
  local held, failed = held_records(keys + 1, expects), nil
  for i = 1, expects do
    local value = held[i]
    if value and sub(value, 17, 18) ~= partition then
      return next_at, { 3, i - 1, sub(value, 17, 18) }
    end
    if (value and sub(value, 1, 16) or '') ~= ARGV[versions + i] then
      failed = failed or { 1 }
      failed[#failed + 1] = i - 1
      failed[#failed + 1] = value
    end
  end
  if failed then return next_at, failed end

  at = versions + expects + 1
  local gone, added, rows, bytes = {}, {}, 0, 0
  for _ = 1, deletes do
    local which, log = struct.unpack('>I4I4', ARGV[at])
    local key, old = ARGV[keys + which], held[which]
    if old then
      redis.call('HDEL', records, key)
      relist(key, old, nil, gone, added)
      rows = rows + redis.call('ZCARD', KEYS[log])
      redis.call('UNLINK', KEYS[log])
    end
    at = at + 1
  end
  local fields = {}
  for _ = 1, puts do
    local which = struct.unpack('>I4', ARGV[at])
    local key, old, new = ARGV[keys + which], held[which], ARGV[at + 1]
    if not old or not same_places(old, new) then relist(key, old, new, gone, added) end
    fields[#fields + 1] = key
    fields[#fields + 1] = new
    at = at + 2
  end
  in_steps('HSET', records, fields)
  in_steps('ZREM', index, gone)
  in_steps('ZADD', index, added)
  for i = 1, #gone do bytes = bytes + #gone[i] - 3 end
  for i = 2, #added, 2 do bytes = bytes + #added[i] - 3 end
  rows = rows + #gone + #added / 2

  for _ = 1, logs do
    local log = KEYS[struct.unpack('>I4', ARGV[at])]
    redis.call('ZREMRANGEBYLEX', log, '[' .. sub(ARGV[at + 1], 1, 8), '(' .. ARGV[at + 2])
    redis.call('ZADD', log, 0, ARGV[at + 1])
    at = at + 3
  end
  if events > 0 then add_events(KEYS[feed], at, events, high, low) end
  at = at + events
  for _ = 1, trims do
    local kind, key = struct.unpack('>I4I4', ARGV[at])
    if kind == 0 then
      rows = rows + redis.call('ZREMRANGEBYLEX', KEYS[key], '-', '(' .. ARGV[at + 1])
    else
      rows = rows + trim_feed(KEYS[key], struct.unpack('>dd', ARGV[at + 1]))
    end
    at = at + 2
  end
  for _ = 1, mends do
    if ARGV[at] == '+' then
      redis.call('ZADD', index, 0, ARGV[at + 1])
    else
      redis.call('ZREMRANGEBYLEX', index, '[' .. ARGV[at + 1], '(' .. ARGV[at + 1] .. '\32')
    end
    at = at + 2
  end
  local written = deletes + puts + logs + events + trims + mends > 0
  return next_at, { 0, rows, bytes }, written
end

local answers, at, any = { now }, 2, false
while at <= #ARGV do
  local answer, written
  at, answer, written = apply(at)
  answers[#answers + 1] = answer
  any = any or written
end
if any then redis.call('SPUBLISH', KEYS[3], ARGV[1]) end
return answers
