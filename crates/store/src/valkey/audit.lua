-- Records or places of one tag, each compared with the other. KEYS: records, index. ARGV: what, where from, limit.
local records, index, limit = KEYS[1], KEYS[2], ARGV[3]

if ARGV[1] == 'records' then
  local page = redis.call('HSCAN', records, ARGV[2], 'COUNT', limit)
  local found = page[2]
  local answers = {}
  for at = 1, #found, 2 do
    local missing = {}
    local claimed = places(found[at + 1], found[at])
    for i = 1, #claimed do
      if not redis.call('ZSCORE', index, claimed[i]) then missing[#missing + 1] = i - 1 end
    end
    answers[#answers + 1] = { found[at], found[at + 1], missing }
  end
  return { page[1], answers }
end

local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
local listed = redis.call('ZRANGE', index, from, '+', 'BYLEX', 'LIMIT', 0, limit)
local strays = {}
for at = 1, #listed do
  local place = listed[at]
  local name = string.find(place, '\0', 1, true)
  local key = sub(place, name + 9, -3)
  local value = redis.call('HGET', records, key)
  local claimed = false
  for _, other in ipairs(value and places(value, key) or {}) do
    claimed = claimed or other == place
  end
  if not claimed then strays[#strays + 1] = { place, value and sub(value, 1, 18) } end
end
return { #listed, listed[#listed] or '', strays }
