-- Hands entries back unfinished: they go to the consumer nobody reads as, already idle for longer than any lease,
-- with the attempt taken off again, so that the next reclaim anywhere takes them at once.
-- KEYS: stream
-- ARGV: group, consumer, released consumer, idle (ms), then entry ids (at most 1,000)
-- Returns: how many were handed back.
local count = 0
for i = 5, #ARGV do
  local p = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)
  if p[1] and p[1][2] == ARGV[2] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[3], 0, ARGV[i], 'IDLE', ARGV[4], 'RETRYCOUNT', math.max(p[1][4] - 1, 0), 'JUSTID')
    count = count + 1
  end
end
return count
