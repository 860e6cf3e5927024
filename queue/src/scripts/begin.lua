-- Says which batches the caller's chunks belong to still want them, and moves those chunks' jobs from waiting to
-- running. Chunks are delivered in the order of their batch, so 'claimed' is one number that only grows: marking
-- the same chunk twice, or after a crash in between, changes nothing.
-- What moved on may have made room in the stream for more of the same batch (see feed).
-- KEYS: depth, stream, then for each batch: batch, backlog
-- ARGV: depth field, then for each batch: its id, the index one past its last claimed job
-- Returns: for each batch 1 = wanted, 0 = cancelled or gone.
local answer, moved = {}, 0
for i = 3, #KEYS, 2 do
  local b = redis.call('HMGET', KEYS[i], 'claimed', 'cancelled_ms')
  if b[1] and not b[2] then
    local gain = tonumber(ARGV[i]) - tonumber(b[1])
    if gain > 0 then
      redis.call('HSET', KEYS[i], 'claimed', ARGV[i])
      moved = moved + gain
    end
    feed(KEYS[2], KEYS[i], KEYS[i + 1], ARGV[i - 1])
    answer[#answer + 1] = 1
  else
    answer[#answer + 1] = 0
  end
end
if moved > 0 then
  redis.call('HINCRBY', KEYS[1], ARGV[1] .. ':waiting', -moved)
  redis.call('HINCRBY', KEYS[1], ARGV[1] .. ':running', moved)
end
return answer
