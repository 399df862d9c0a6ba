-- Makes the store unless there is something already, and tells what is there. KEYS: meta. ARGV: names and values.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then
  redis.call('HSET', KEYS[1], unpack(ARGV))
elseif kind ~= 'hash' then
  return {}
end
return redis.call('HGETALL', KEYS[1])
