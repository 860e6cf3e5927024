-- Shared by the scripts that put chunks onto the stream (this text stands before theirs).
-- A batch keeps about 'ahead' unclaimed jobs in the stream; the rest waits in its backlog and moves up as claims make
-- room. So batches of one priority take turns, and a small one is never behind all of a huge one.
-- An entry that waited in a backlog says since when (t), since its id tells only when it moved up.
local function put(stream, id, n, first, jobs, since, payload)
  local entry = {'XADD', stream, '*', 'b', id, 'n', n, 'f', first, 'j', jobs}
  if since then
    entry[#entry + 1] = 't'
    entry[#entry + 1] = since
  end
  if payload ~= '' then
    entry[#entry + 1] = 'p'
    entry[#entry + 1] = payload
  end
  redis.call(unpack(entry))
end
-- Moves chunks up while there is room, at most 256 a call: claims take no more at once, and each is followed by a
-- call. The field 'queued' (jobs that ever were in the stream) is there only while there is a backlog.
local function feed(stream, batch, backlog, id)
  local b = redis.call('HMGET', batch, 'queued', 'claimed', 'ahead')
  if not b[1] then return end
  local queued, room = tonumber(b[1]), tonumber(b[2]) + tonumber(b[3])
  for _ = 1, 256 do
    if queued >= room then break end
    local item = redis.call('LPOP', backlog)
    if not item then
      redis.call('HDEL', batch, 'queued')
      return
    end
    local n, first, jobs, since, payload = string.match(item, '^(%d+) (%d+) (%d+) (%d+)\n(.*)$')
    put(stream, id, n, first, jobs, since, payload)
    queued = queued + jobs
  end
  redis.call('HSET', batch, 'queued', queued)
end
