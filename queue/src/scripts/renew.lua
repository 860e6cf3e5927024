-- Extends leases: resets the idle time of entries that still belong to the caller. JUSTID leaves the delivery
-- count alone, since a renewal is no attempt.
-- KEYS: stream
-- ARGV: group, consumer, then entry ids (at most 1,000)
-- Returns: the ids that belong to somebody else by now, or to nobody.
local lost = {}
for i = 3, #ARGV do
  local p = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)
  if p[1] and p[1][2] == ARGV[2] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
