-- Cancels a batch at once: every job without an outcome is recorded as cancelled here, in one step. Its entries may
-- still be in the stream or on a worker; whoever meets them drops them (see begin, complete).
-- KEYS: depth, batch, payload, result, layout, backlog
-- ARGV: notice channel, depth field
-- Returns: jobs cancelled by this call, or -1 when there is no such batch.
local depth, batch, payload, result, layout = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local b = redis.call('HMGET', batch, 'submitted', 'claimed', 'recorded', 'finished_ms')
if not b[1] then return -1 end
if b[4] then return 0 end
local submitted, claimed, recorded = tonumber(b[1]), tonumber(b[2]), tonumber(b[3])
redis.call('UNLINK', KEYS[6])
redis.call('HDEL', batch, 'queued')
redis.call('HINCRBY', batch, 'cancelled', submitted - recorded)
redis.call('HSET', batch, 'cancelled_ms', now(), 'closed', 1, 'claimed', submitted, 'recorded', submitted)
redis.call('HINCRBY', depth, ARGV[2] .. ':waiting', claimed - submitted)
redis.call('HINCRBY', depth, ARGV[2] .. ':running', recorded - claimed)
settle(batch, payload, result, layout, ARGV[1])
return submitted - recorded
