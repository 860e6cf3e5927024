-- Puts chunks onto the work stream: short payloads come as arguments and travel in the entry, the caller stores the others in the
-- same transaction (HSETNX before this script).
-- Atomic: numbering, stream entries, counters. Repeating it is harmless: a chunk number below the batch's next
-- one was accepted before, a number above it is refused, so nothing is doubled and nothing is skipped. Chunks of another
-- input than the batch's are refused where they meet what it holds, told by digests; '' is not compared.
-- KEYS: stream, depth, batch, payload, result, layout, backlog
-- ARGV: batch id, notice channel, depth field, jobs allowed in the queue, close (0/1), digest before the first of the chunks, then
--       for each chunk: number, jobs, payload or '', digest up to its end
-- Returns: {'ok', next chunk} | {'full', unfinished jobs} | {'gap', next chunk} | {'lost', chunk}
--        | {'gone'} | {'cancelled'} | {'closed', next chunk} | {'differs', next chunk}
local stream, depth, batch, payload, result, layout = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id, field, limit = ARGV[1], ARGV[3], tonumber(ARGV[4])
local b = redis.call('HMGET', batch, 'chunks', 'submitted', 'cancelled_ms', 'closed', 'collected', 'layout',
  'queued', 'claimed', 'ahead', 'digest')
if not b[1] then
  redis.call('UNLINK', payload)
  return {'gone'}
end
if b[3] then
  redis.call('UNLINK', payload)
  return {'cancelled'}
end
local next, first, collected = tonumber(b[1]), tonumber(b[2]), tonumber(b[5])
-- What the transaction just stored of a chunk from here on must not stay unless it is accepted: not beyond the last accepted
-- one, and not where outcomes are. (complete takes a payload for a sign that its chunk is still to do.)
local function withdraw()
  for i = 7, #ARGV, 4 do
    local n = tonumber(ARGV[i])
    if ARGV[i + 2] == '' and (n >= next or n < collected or redis.call('HEXISTS', result, n) == 1) then
      redis.call('HDEL', payload, n)
    end
  end
end
local last = #ARGV > 6 and tonumber(ARGV[#ARGV - 3])
if last and last < next - 1 and ARGV[5] == '1' then
  withdraw()
  return {'differs', next}
end
if last and last >= next then
  local held = redis.call('HMGET', depth, field .. ':waiting', field .. ':running')
  local unfinished = (tonumber(held[1]) or 0) + (tonumber(held[2]) or 0)
  if b[4] == '1' or unfinished >= limit then
    withdraw()
    return b[4] == '1' and {'closed', next} or {'full', unfinished}
  end
end
-- layout is 'chunk:first:jobs' of the newest run of equal chunks.
local seg_chunk, seg_first, seg_jobs = nil, nil, nil
if b[6] then
  seg_chunk, seg_first, seg_jobs = string.match(b[6], '(%d+):(%d+):(%d+)')
  seg_chunk, seg_first, seg_jobs = tonumber(seg_chunk), tonumber(seg_first), tonumber(seg_jobs)
end
local queued, room, at = b[7] and tonumber(b[7]), tonumber(b[8]) + tonumber(b[9]), now()
local accepted, repeated, refused, digest = 0, false, nil, ARGV[6]
for i = 7, #ARGV, 4 do
  local n, jobs = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  if n == next - 1 then digest = ARGV[i + 3] end
  local meets = accepted == 0 and (n == next - 1 or n == next)
  if meets and b[10] and b[10] ~= '' and digest ~= '' and digest ~= b[10] then
    withdraw()
    return {'differs', next}
  end
  if n < next then
    -- Sent again after a lost reply.
    repeated = true
  elseif n > next then
    refused = refused or {'gap', next}
  elseif ARGV[i + 2] == '' and redis.call('HEXISTS', payload, n) == 0 then
    refused = refused or {'lost', n}
  else
    if not queued and first < room then
      put(stream, id, n, first, jobs, nil, ARGV[i + 2])
    else
      queued = queued or first
      redis.call('RPUSH', KEYS[7], n .. ' ' .. first .. ' ' .. jobs .. ' ' .. at .. '\n' .. ARGV[i + 2])
    end
    local follows = seg_jobs and first == seg_first + (n - seg_chunk) * seg_jobs
    if not follows or jobs > seg_jobs then
      if seg_jobs then
        redis.call('ZADD', layout, seg_first, seg_chunk .. ':' .. seg_first .. ':' .. seg_jobs)
      end
      seg_chunk, seg_first, seg_jobs = n, first, jobs
    end
    next, first, accepted, digest = next + 1, first + jobs, accepted + jobs, ARGV[i + 3]
  end
end
if accepted > 0 then
  redis.call('HSET', batch, 'chunks', next, 'submitted', first, 'touched_ms', at, 'digest', digest,
    'layout', seg_chunk .. ':' .. seg_first .. ':' .. seg_jobs)
  redis.call('HINCRBY', depth, field .. ':waiting', accepted)
  if queued then redis.call('HSET', batch, 'queued', queued) end
end
if repeated or refused then withdraw() end
if refused then return refused end
if ARGV[5] == '1' and b[4] ~= '1' then
  redis.call('HSET', batch, 'closed', 1, 'touched_ms', now())
  settle(batch, payload, result, layout, ARGV[2])
end
return {'ok', next}
