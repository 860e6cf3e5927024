-- Drops outcomes that their reader has safely put away.
-- KEYS: batch, result, layout
-- ARGV: chunks below this number are collected, how long (ms) the record of a wholly collected batch stays,
--       then the numbers to drop (at most 1,000)
-- Returns: 1, or 0 when there is no such batch.
local b = redis.call('HMGET', KEYS[1], 'collected', 'chunks', 'finished_ms')
if not b[1] then return 0 end
for i = 3, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
if tonumber(ARGV[1]) > tonumber(b[1]) then redis.call('HSET', KEYS[1], 'collected', ARGV[1]) end
if b[3] and tonumber(ARGV[1]) >= tonumber(b[2]) then
  redis.call('UNLINK', KEYS[2], KEYS[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
