-- Opens a batch. Atomic: either this call creates the record or somebody else already had.
-- KEYS: batch, batches, names
-- ARGV: version, batch id, task, priority, label, keep (0/1), retention_ms, jobs a full chunk holds (0 = it varies), jobs that may wait
--       in the stream (see feed)
-- Returns: {1} when created; when the id is taken {0, task, priority, jobs a full chunk holds, chunks, jobs, digest of those or '',
--       closed (0/1)}
local old = redis.call('HMGET', KEYS[1], 'task', 'priority', 'chunk_jobs', 'chunks', 'submitted', 'digest', 'closed')
if old[1] then return {0, old[1], old[2], old[3] or '0', old[4], old[5], old[6] or '', old[7] or '0'} end
local at = now()
redis.call('HSET', KEYS[1], 'v', ARGV[1], 'task', ARGV[3], 'priority', ARGV[4], 'label', ARGV[5],
  'keep', ARGV[6], 'chunk_jobs', ARGV[8], 'ahead', ARGV[9], 'retention_ms', ARGV[7], 'created_ms', at, 'touched_ms', at,
  'chunks', 0, 'submitted', 0, 'claimed', 0, 'recorded', 0, 'collected', 0)
redis.call('ZADD', KEYS[2], at, ARGV[2])
local label = string.lower(ARGV[5])
redis.call('ZADD', KEYS[3], 0, 'i' .. ARGV[2] .. '\0' .. label)
if label ~= '' then redis.call('ZADD', KEYS[3], 0, 'l' .. label .. '\0' .. ARGV[2]) end
return {1}
