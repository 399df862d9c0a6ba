-- A record's value is version (16 bytes), partition (2), length of its places (2), places, body. A place is the length of
-- an index name (1), the name, a rank (8); a due time is a place in the index without a name. In the sorted set a place is
-- `name \0 rank key partition`, so that bytewise order is the order of ranks and keys.
local sub, byte = string.sub, string.byte

local function places(value, key)
  local list, tail = {}, key .. sub(value, 17, 18)
  local at, stop = 21, 20 + byte(value, 19) * 256 + byte(value, 20)
  while at <= stop do
    local name = byte(value, at)
    list[#list + 1] = sub(value, at + 1, at + name) .. '\0' .. sub(value, at + name + 1, at + name + 8) .. tail
    at = at + name + 9
  end
  return list
end
