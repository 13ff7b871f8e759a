-- Writes one change: entries, version and log together, then announces it. Nothing at all if the catalog is not at the version
-- that the writer had read, or if Redis refuses writes: then the first write fails, before anything was written.
--
-- KEYS meta, entries, log, resources (one slot)
-- ARGV expected epoch, revision and id, new epoch, revision and id, time, size in entries and bytes, log changes, log bytes, record,
--      publishing command, channel, announcement, new settings after a "=" or nothing, numbers of deletes, of resources that go
--      and of pieces that come, deleted fields..., digests of resources that go..., field and value of each piece...,
--      field and value of each upsert...
-- Answers {1} or, if the catalog is elsewhere, {0, epoch, revision}.
local meta, entries, log, resources = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local known = redis.call('HMGET', meta, 'epoch', 'revision', 'deleted', 'id')
local epoch, revision = known[1] or '', known[2] or '0'
if known[3] then
  epoch, revision = '', '0'
end

-- The same revision by another change: the writer holds one that Redis has lost since.
local lost = ARGV[3] ~= '' and known[4] and not known[3] and known[4] ~= ARGV[3]
if epoch ~= ARGV[1] or revision ~= ARGV[2] or lost then
  -- The same write again, whose answer was lost on the way?
  local logged = redis.call('XRANGE', log, ARGV[5] .. '-1', ARGV[5] .. '-1')
  if epoch == ARGV[4] and (known[4] == ARGV[6] or (logged[1] and logged[1][2][2] == ARGV[6])) then
    return {1}
  end
  return {0, epoch, revision}
end

if ARGV[2] == '0' then
  redis.call('DEL', meta, entries, log)
  redis.call('UNLINK', resources)
end
redis.call('HSET', meta, 'epoch', ARGV[4], 'revision', ARGV[5], 'id', ARGV[6], 'updated', ARGV[7])
redis.call('HSET', meta, 'size', ARGV[8], 'bytes', ARGV[9])
if ARGV[16] ~= '' then
  redis.call('HSET', meta, 'settings', string.sub(ARGV[16], 2))
end
local first_gone = 20 + tonumber(ARGV[17])
local first_piece = first_gone + tonumber(ARGV[18])
local first_upsert = first_piece + 2 * tonumber(ARGV[19])
for index = 20, first_gone - 1 do
  redis.call('HDEL', entries, ARGV[index])
end
for index = first_gone, first_piece - 1 do
  local number = 0
  while redis.call('HDEL', resources, ARGV[index] .. ':' .. number) == 1 do
    number = number + 1
  end
end
for index = first_piece, first_upsert - 1, 2 do
  redis.call('HSET', resources, ARGV[index], ARGV[index + 1])
end
for index = first_upsert, #ARGV, 2 do
  redis.call('HSET', entries, ARGV[index], ARGV[index + 1])
end

redis.call('XADD', log, ARGV[5] .. '-1', 'id', ARGV[6], 'record', ARGV[12])
local bytes = redis.call('HINCRBY', meta, 'log_bytes', #ARGV[12])
local length = redis.call('XLEN', log)
while length > 0 and (length > tonumber(ARGV[10]) or bytes > tonumber(ARGV[11])) do
  local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', log, oldest[1])
  bytes = redis.call('HINCRBY', meta, 'log_bytes', -#oldest[2][4])
  length = length - 1
end

redis.call(ARGV[13], ARGV[14], ARGV[15])
return {1}
