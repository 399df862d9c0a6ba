-- Entries of one log, with the partition of the record that owns it. KEYS: records, log. ARGV: key, start, limit.
local owner = redis.call('HGET', KEYS[1], ARGV[1])
if not owner then return { false, {} } end
local entries = redis.call('ZRANGE', KEYS[2], '[' .. ARGV[2], '+', 'BYLEX', 'LIMIT', 0, ARGV[3])
return { string.sub(owner, 17, 18), entries }
