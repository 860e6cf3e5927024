-- Takes chunks that nobody wants off the stream. Where their batch was cancelled, an empty text stands for the outcomes
-- from then on: it keeps a late worker from storing its own, which readers would take for counted ones.
-- KEYS: stream, batch, result
-- ARGV: group, then for each chunk: entry id, its number ('' when its payload came with the entry: its outcomes are stored
--       by the script that counts them, or not at all)
-- Returns: how many were there.
local cancelled = redis.call('HEXISTS', KEYS[2], 'cancelled_ms') == 1
local count = 0
for i = 2, #ARGV, 2 do
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
    count = count + 1
    if cancelled and ARGV[i + 1] ~= '' then redis.call('HSET', KEYS[3], ARGV[i + 1], '') end
  end
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
end
return count
