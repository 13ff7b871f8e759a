-- All entries at one version. KEYS meta, entries (one slot). Answers {epoch, revision, id, records} or nil.
local known = redis.call('HMGET', KEYS[1], 'epoch', 'revision', 'id', 'deleted')
if known[4] or not known[1] then
  return false
end
return {known[1], known[2], known[3], redis.call('HVALS', KEYS[2])}
