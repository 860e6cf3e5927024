-- Deletes a consumer if, and only if, nothing is pending under its name: XGROUP DELCONSUMER would throw away its
-- pending entries, and with them jobs.
-- KEYS: stream
-- ARGV: group, consumer
-- Returns: 1 when deleted, 0 when it still owns entries.
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
