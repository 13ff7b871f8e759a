-- Deletes a catalog. A mark stays behind for a while, so that replicas which hold the catalog can tell a deletion from a loss.
--
-- KEYS meta, entries, log (one slot)
-- ARGV expected epoch, expected revision, seconds to keep the mark, publishing command, channel, announcement
-- Answers {1} or, if the catalog is elsewhere, {0, epoch, revision}.
local meta, entries, log = KEYS[1], KEYS[2], KEYS[3]
local known = redis.call('HMGET', meta, 'epoch', 'revision', 'deleted')
local epoch, revision = known[1] or '', known[2] or '0'
local there = epoch == ARGV[1] and revision == ARGV[2]
if known[3] and there then
  return {1} -- the same deletion again, whose answer was lost on the way
end
if known[3] then
  epoch, revision = '', '0'
end
if not there then
  return {0, epoch, revision}
end
redis.call('DEL', entries, log)
redis.call('HSET', meta, 'deleted', '1')
redis.call('EXPIRE', meta, ARGV[3])
redis.call(ARGV[4], ARGV[5], ARGV[6])
return {1}
