-- The records of the changes after a version. If the catalog's history is not the one that the version belongs to, because Redis lost
-- its latest changes, a new epoch begins, so that revisions never seem to go backwards.
--
-- KEYS meta, log (one slot)
-- ARGV epoch, revision, id, new epoch, publishing command, channel, announcement without a change, of the new epoch
-- Answers {records...}, or nil if the log does not lead from that version to the newest.
local meta, log = KEYS[1], KEYS[2]
local known = redis.call('HMGET', meta, 'epoch', 'revision', 'deleted', 'id')
if known[3] or known[1] ~= ARGV[1] then
  return false
end

local newest, wanted = tonumber(known[2]), tonumber(ARGV[2])
local contradicts = false
if ARGV[3] == '' then -- whoever asks never held that version: it proves nothing
  contradicts = false
elseif wanted >= newest then
  contradicts = wanted > newest or known[4] ~= ARGV[3]
else
  local logged = redis.call('XRANGE', log, ARGV[2] .. '-1', ARGV[2] .. '-1')
  contradicts = logged[1] and logged[1][2][2] ~= ARGV[3]
end
if contradicts then
  redis.call('HSET', meta, 'epoch', ARGV[4], 'log_bytes', 0)
  redis.call('DEL', log)
  redis.call(ARGV[5], ARGV[6], ARGV[7])
  return false
end

local records = {}
for _, logged in ipairs(redis.call('XRANGE', log, (wanted + 1) .. '-1', '+')) do
  records[#records + 1] = logged[2][4]
end
if wanted > newest or #records ~= newest - wanted then
  return false
end
return records
