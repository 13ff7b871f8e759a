-- Takes a name out of a tenant's list of catalogs unless it was put there again meanwhile. KEYS list; ARGV name, score.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
