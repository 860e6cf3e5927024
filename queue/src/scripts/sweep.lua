-- Closes a batch whose producer went away: open, with nothing added for a whole retention time, it ends with what it
-- has. Takes batches whose record has expired off the index.
-- KEYS: batches, then for one batch: batch, payload, result, layout, backlog
-- ARGV: batch id, notice channel
-- Returns: 'gone' | 'closed' | 'kept'
local b = redis.call('HMGET', KEYS[2], 'touched_ms', 'retention_ms', 'closed', 'finished_ms')
if not b[1] then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('UNLINK', KEYS[3], KEYS[4], KEYS[5], KEYS[6])
  return 'gone'
end
if b[3] ~= '1' and now() - tonumber(b[1]) > tonumber(b[2]) then
  redis.call('HSET', KEYS[2], 'closed', 1)
  settle(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[2])
  return 'closed'
end
return 'kept'
