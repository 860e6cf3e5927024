-- Records chunks. Outcomes of short payloads come as arguments; the others the caller stores in the same transaction (HSETNX
-- before this script).
-- Atomic. The gate is XDEL: it returns 1 once in the life of an entry, so a chunk is counted once, whoever solves
-- it and however often. (XACK alone would answer 0 for an entry that a recreated group has not handed out yet.)
-- KEYS: stream, depth, batch, payload, result, layout, backlog
-- ARGV: group, notice channel, depth field, batch id, 7 sums of outcomes, then for each chunk: entry id, number, its own end and 7 counts of outcomes joined by blanks, outcomes or ''
--       (order: solved no_solution multiple invalid timed_out cancelled failed)
-- Returns: {1 = the batch lives | 0 = cancelled or gone, then the numbers of chunks somebody else had recorded}
local stream, depth, batch, payload, result, layout = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local NAMES = {'solved', 'no_solution', 'multiple', 'invalid', 'timed_out', 'cancelled', 'failed'}
local field = ARGV[3]
local b = redis.call('HMGET', batch, 'claimed', 'cancelled_ms', 'collected')
local lives = b[1] and not b[2]
local ids, lost, answer, told, stored, voided = {}, {}, {lives and 1 or 0}, {}, {}, {}
local last = 0
for i = 12, #ARGV, 4 do
  ids[#ids + 1] = ARGV[i]
  if redis.call('XDEL', stream, ARGV[i]) == 1 then
    told[#told + 1] = ARGV[i + 1]
    last = math.max(last, tonumber(string.match(ARGV[i + 2], '^%d+')))
    if ARGV[i + 3] ~= '' then
      stored[#stored + 1] = ARGV[i + 1]
      stored[#stored + 1] = ARGV[i + 3]
    else
      voided[#voided + 1] = ARGV[i + 1]
      voided[#voided + 1] = ''
    end
  else
    lost[#lost + 1] = ARGV[i + 2]
    answer[#answer + 1] = tonumber(ARGV[i + 1])
    -- What the transaction just stored must not stay where the chunk was collected already, or where it waits again
    -- under another entry (sent anew after Redis lost its last moments): its payload is then still there.
    if b[1] and (tonumber(ARGV[i + 1]) < tonumber(b[3]) or redis.call('HEXISTS', payload, ARGV[i + 1]) == 1) then
      redis.call('HDEL', result, ARGV[i + 1])
    end
  end
end
redis.call('XACK', stream, ARGV[1], unpack(ids))
if not lives then
  -- Nobody will read them: a cancelled batch keeps what it had (see drop), a vanished one keeps nothing.
  if b[1] then
    if #voided > 0 then redis.call('HSET', result, unpack(voided)) end
  else
    redis.call('UNLINK', payload, result)
  end
  return answer
end
if #told > 0 then redis.call('HDEL', payload, unpack(told)) end
if #stored > 0 then redis.call('HSET', result, unpack(stored)) end
local sums = {}
for k = 1, 7 do sums[k] = tonumber(ARGV[4 + k]) end
for _, text in ipairs(lost) do
  local k = 0
  for count in string.gmatch(text, ' (%d+)') do
    k = k + 1
    sums[k] = sums[k] - tonumber(count)
  end
end
local recorded = 0
for k = 1, 7 do
  if sums[k] > 0 then redis.call('HINCRBY', batch, NAMES[k], sums[k]) end
  recorded = recorded + sums[k]
end
-- Up to the last chunk that was ours to record: another may stand for nothing any more.
local gain = last - tonumber(b[1])
if gain > 0 then
  redis.call('HSET', batch, 'claimed', last)
  redis.call('HINCRBY', depth, field .. ':waiting', -gain)
  feed(stream, batch, KEYS[7], ARGV[4])
else
  gain = 0
end
if recorded > 0 then
  redis.call('HINCRBY', batch, 'recorded', recorded)
  -- One short chunk is told with its outcomes: whoever waits for it need not ask.
  local text = table.concat(told, ' ')
  if #told == 1 and #stored == 2 and #stored[2] <= 512 then text = text .. '\n' .. stored[2] end
  redis.call('PUBLISH', ARGV[2], text)
end
if gain ~= recorded then redis.call('HINCRBY', depth, field .. ':running', gain - recorded) end
settle(batch, payload, result, layout, ARGV[2])
return answer
