-- Shared by the scripts that may end a batch (this text stands before theirs).
-- Server time in ms.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
-- Marks the batch finished once its input is closed and every job is recorded; says so to whoever listens
-- and starts its expiry. Calling it again changes nothing.
local function settle(batch, payload, result, layout, notice)
  local b = redis.call('HMGET', batch, 'closed', 'submitted', 'recorded', 'finished_ms', 'keep', 'retention_ms')
  if b[1] ~= '1' or b[2] ~= b[3] or b[4] then return end
  redis.call('HSET', batch, 'finished_ms', now())
  redis.call('UNLINK', payload)
  if b[5] ~= '1' then
    for _, key in ipairs({batch, result, layout}) do redis.call('PEXPIRE', key, b[6]) end
  end
  redis.call('PUBLISH', notice, 'finished')
end
