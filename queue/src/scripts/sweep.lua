-- Closes a batch whose producer went away: open, with nothing added for a whole retention time, it ends with what it
-- has. Takes batches whose record has expired off the index.
-- KEYS: batches, names, then for one batch: batch, payload, result, layout, backlog
-- ARGV: batch id, notice channel
-- Returns: 'gone' | 'closed' | 'kept'
local b = redis.call('HMGET', KEYS[3], 'touched_ms', 'retention_ms', 'closed', 'finished_ms')
if not b[1] then
  redis.call('ZREM', KEYS[1], ARGV[1])
  local name = redis.call('ZRANGEBYLEX', KEYS[2], '[i' .. ARGV[1], '(i' .. ARGV[1] .. '\1')[1]
  if name then
    local label = string.sub(name, #ARGV[1] + 3)
    redis.call('ZREM', KEYS[2], name, 'l' .. label .. '\0' .. ARGV[1])
  end
  redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6], KEYS[7])
  return 'gone'
end
if b[3] ~= '1' and now() - tonumber(b[1]) > tonumber(b[2]) then
  redis.call('HSET', KEYS[3], 'closed', 1)
  settle(KEYS[3], KEYS[4], KEYS[5], KEYS[6], ARGV[2])
  return 'closed'
end
return 'kept'
