-- Checks and writes a group of batches of one tag, each on its own. KEYS: records, index, marker, then feeds and logs.
-- ARGV: the channel and the message for listeners or nothing, the time when a test holds the clock, whether to write the
-- marker, then the batches; each starts with a header of fixed size that counts what follows. Records and places are read once before the first batch and written once behind the last.
local STEP = 1000 -- Lua can hand over only so many values in one call.
local HEADER = '>ddI4I4I4I4I4I4I4I4I4ddc2'
local FIRST = 5

local call, unpacked = redis.call, struct.unpack
local records, index = KEYS[1], KEYS[2]
local now = tonumber(ARGV[3])
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- What each record is now, false for none; what is still to be written of that; and of places.
local current, fields, listed = {}, {}, {}

local function in_steps(command, key, list)
  for from = 1, #list, STEP do
    call(command, key, unpack(list, from, math.min(from + STEP - 1, #list)))
  end
end

local function read_records()
  local keys, at = {}, FIRST
  while at <= #ARGV do
    local _, _, span, expects = unpacked('>ddI4I4', ARGV[at])
    for i = at + 1, at + expects do keys[#keys + 1] = ARGV[i] end
    at = at + 1 + span
  end
  for from = 1, #keys, STEP do
    local values = call('HMGET', records, unpack(keys, from, math.min(from + STEP - 1, #keys)))
    for i = 1, #values do current[keys[from + i - 1]] = values[i] end
  end
end

local function write_places()
  local gone, added = {}, {}
  for place, there in pairs(listed) do
    if there then
      added[#added + 1] = '0'
      added[#added + 1] = place
    else
      gone[#gone + 1] = place
    end
  end
  in_steps('ZREM', index, gone)
  in_steps('ZADD', index, added)
  listed = {}
end

local function write_records()
  local gone, put = {}, {}
  for key, value in pairs(fields) do
    if value then
      put[#put + 1] = key
      put[#put + 1] = value
    else
      gone[#gone + 1] = key
    end
  end
  in_steps('HDEL', records, gone)
  in_steps('HSET', records, put)
end

local function same_places(old, new)
  local length = byte(old, 19) * 256 + byte(old, 20)
  return sub(old, 19, 20 + length) == sub(new, 19, 20 + length)
end

-- Gives a key another value, and returns how many places that changes and their bytes.
local function set(key, new)
  local old = current[key]
  current[key], fields[key] = new, new
  if old and new and same_places(old, new) then return 0, 0 end
  local had, rows, bytes = {}, 0, 0
  local before, after = old and places(old, key) or {}, new and places(new, key) or {}
  for i = 1, #before do had[before[i]] = true end
  for i = 1, #after do
    local place = after[i]
    if had[place] then
      had[place] = nil
    else
      listed[place] = true
      rows, bytes = rows + 1, bytes + #place - 3
    end
  end
  for place in pairs(had) do
    listed[place] = false
    rows, bytes = rows + 1, bytes + #place - 3
  end
  return rows, bytes
end

-- A position is 16 high and 48 low bits, and so is the id of an event: exact in Lua's numbers, and next by `high-*`.
local function newest(feed)
  local last = call('XREVRANGE', feed, '+', '-', 'COUNT', 1)[1]
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
      call('XADD', feed, id, 'e', ARGV[i])
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
  return call('XTRIM', feed, 'MINID', '=', string.format('%.0f-%.0f', high, low))
end

local function apply(at)
  local from, till, span, expects, deletes, puts, logs, events, trims, mends, feed, high, low, partition =
    unpacked(HEADER, ARGV[at])
  local next_at = at + 1 + span
  if now < from or now >= till then return next_at, { 2 } end
  local keys, versions, failed = at, at + expects, nil
  for i = 1, expects do
    local value = current[ARGV[keys + i]]
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
  local rows, bytes = 0, 0
  for _ = 1, deletes do
    local which, log = unpacked('>I4I4', ARGV[at])
    local key = ARGV[keys + which]
    if current[key] then
      local more_rows, more_bytes = set(key, false)
      rows, bytes = rows + more_rows + call('ZCARD', KEYS[log]), bytes + more_bytes
      call('UNLINK', KEYS[log])
    end
    at = at + 1
  end
  for _ = 1, puts do
    local more_rows, more_bytes = set(ARGV[keys + unpacked('>I4', ARGV[at])], ARGV[at + 1])
    rows, bytes = rows + more_rows, bytes + more_bytes
    at = at + 2
  end
  for _ = 1, logs do
    local log = KEYS[unpacked('>I4', ARGV[at])]
    call('ZREMRANGEBYLEX', log, '[' .. sub(ARGV[at + 1], 1, 8), '(' .. ARGV[at + 2])
    call('ZADD', log, 0, ARGV[at + 1])
    at = at + 3
  end
  if events > 0 then add_events(KEYS[feed], at, events, high, low) end
  at = at + events
  for _ = 1, trims do
    local kind, key = unpacked('>I4I4', ARGV[at])
    if kind == 0 then
      rows = rows + call('ZREMRANGEBYLEX', KEYS[key], '-', '(' .. ARGV[at + 1])
    else
      rows = rows + trim_feed(KEYS[key], unpacked('>dd', ARGV[at + 1]))
    end
    at = at + 2
  end
  for _ = 1, mends do
    if ARGV[at] == '+' then
      listed[ARGV[at + 1]] = true
    else
      write_places()
      call('ZREMRANGEBYLEX', index, '[' .. ARGV[at + 1], '(' .. ARGV[at + 1] .. '\32')
    end
    at = at + 2
  end
  return next_at, { 0, rows, bytes }
end

read_records()
local answers, at = { now }, FIRST
while at <= #ARGV do
  at, answers[#answers + 1] = apply(at)
end
write_places()
write_records()
-- `WAIT` counts from the last write of its connection, so a check that others' commits have to be replicated for writes too.
if ARGV[4] ~= '' then call('HSET', KEYS[3], 'now', now) end
-- The hint may also be of earlier calls, so it goes out whatever came of this one.
if ARGV[2] ~= '' then call('SPUBLISH', ARGV[1], ARGV[2]) end
return answers
