-- Deletes a catalog. A mark stays behind for a while, so that replicas which hold the catalog can tell a deletion from a loss.
--
-- KEYS meta, entries, log, resources, usage (one slot)
-- ARGV expected epoch, revision and id, seconds to keep the mark, publishing command, channel, announcement
-- Answers {1} or, if the catalog is elsewhere, {0, epoch, revision}.
local meta, entries, log = KEYS[1], KEYS[2], KEYS[3]
local known = redis.call('HMGET', meta, 'epoch', 'revision', 'deleted', 'id')
local epoch, revision = known[1] or '', known[2] or '0'
local lost = ARGV[3] ~= '' and known[4] and known[4] ~= ARGV[3] -- another change with the same revision
local there = epoch == ARGV[1] and revision == ARGV[2] and not lost
if known[3] and there then
  return {1} -- the same deletion again, whose answer was lost on the way
end
if known[3] then
  epoch, revision = '', '0'
end
if not there and (known[1] or ARGV[1] == '') then
  return {0, epoch, revision}
end
if not known[1] then -- Redis has lost it: the mark says that it is not to come back
  redis.call('HSET', meta, 'epoch', ARGV[1], 'revision', ARGV[2], 'id', ARGV[3])
end
redis.call('DEL', entries, log)
redis.call('UNLINK', KEYS[4], KEYS[5])
redis.call('HSET', meta, 'deleted', '1')
redis.call('EXPIRE', meta, ARGV[4])
redis.call(ARGV[5], ARGV[6], ARGV[7])
return {1}
