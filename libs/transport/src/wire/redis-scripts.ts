import type { Cluster, Redis } from 'ioredis';

/** Lua scripts, each atomic in Redis. Each uses keys of one service only, for a Redis Cluster. */
export interface Scripts {
  /**
   * Writes a heartbeat, and creates stream and group if the stream is missing. Returns Redis' time
   * (ms), the number of replicas that are alive, the number of unanswered requests that replicas
   * have read, and the ids of at most 100 of these that were not renewed for `abandonedMs`.
   */
  rpcHeartbeat(
    requests: string,
    heartbeats: string,
    group: string,
    replica: string,
    ttlMs: number,
    abandonedMs: number,
  ): Promise<[now: number, alive: number, pending: number, abandoned: string[]]>;
  /**
   * Returns the remaining validity of the latest heartbeat (0 or less if no replica is alive), and
   * the wait of the oldest unread request (0 if there is none), both in ms.
   */
  rpcReadState(
    requests: string,
    heartbeats: string,
    group: string,
  ): Promise<[aliveMs: number, waitedMs: number]>;
  /**
   * Adds requests, and deletes requests older than `retentionMs`. Each request is passed as the
   * number of its field names and values, then the names and values. Returns the ids of the
   * requests, each null if the stream is missing. A replica that waits in a read gets all requests
   * together.
   */
  rpcAdd(
    requests: string,
    retentionMs: number,
    ...countsAndFields: (string | number)[]
  ): Promise<(string | null)[]>;
  /**
   * Acknowledges and deletes `count` requests, and publishes replies. `idsAndReplies` are the ids
   * of the requests, then channel and message of each reply.
   */
  rpcFinish(
    requests: string,
    group: string,
    count: number,
    ...idsAndReplies: string[]
  ): Promise<void>;
  /**
   * Assigns an abandoned request to this replica without counting a delivery. Returns the fields
   * of the request; null if another replica was faster or the request was deleted.
   */
  rpcReserve(
    requests: string,
    group: string,
    replica: string,
    idleMs: number,
    entryId: string,
  ): Promise<string[] | null>;
  /** Counts a delivery of a request; returns 0 if the request now belongs to another replica. */
  rpcDeliver(requests: string, group: string, replica: string, entryId: string): Promise<number>;
  /**
   * Resets the idle time of the given requests that this replica still owns, so no other replica
   * takes them over.
   */
  rpcRenew(requests: string, group: string, replica: string, ...entryIds: string[]): Promise<void>;
  /**
   * Moves a request to the dead letters and publishes `result` to its caller. The script does not
   * check that this replica owns the request. The dead letter has at most 4 KiB of the request, and
   * the size of the user's data instead of the data. A request that was deleted meanwhile is only
   * acknowledged.
   */
  rpcDeadLetter(
    requests: string,
    deadLetters: string,
    group: string,
    replica: string,
    entryId: string,
    reason: string,
    deliveries: number,
    result: string,
  ): Promise<void>;
  /**
   * Removes a replica's heartbeat, and its consumer unless that has pending requests. Returns the
   * number of pending requests, at most 100.
   */
  rpcLeave(requests: string, heartbeats: string, group: string, replica: string): Promise<number>;
  /**
   * Deletes heartbeats that expired more than `idleMs` ago, and consumers that are idle for longer,
   * not alive and without pending requests. Returns the number of deleted consumers.
   */
  rpcRemoveDeadConsumers(
    requests: string,
    heartbeats: string,
    group: string,
    idleMs: number,
  ): Promise<number>;
}

/** Limits of the dead letters of a service: number, age in ms, bytes each (50 MB in total). */
const maxDeadLetters = 10_000;
const deadLetterTtlMs = 7 * 24 * 60 * 60 * 1_000;
const maxDeadLetterBytes = 4_096;

/** A Redis connection with the scripts as methods. */
export type ScriptedRedis = (Redis | Cluster) & Scripts;

/** Lua that sets `now` to the time of Redis in milliseconds. */
const luaNow = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

const scripts: Record<keyof Scripts, { numberOfKeys: number; lua: string }> = {
  rpcHeartbeat: {
    numberOfKeys: 2,
    lua: `${luaNow}
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
end
redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[2])
local alive = redis.call('ZCOUNT', KEYS[2], now, '+inf')
local pending = redis.call('XPENDING', KEYS[1], ARGV[1])[1]
local abandoned = {}
if pending > 0 then
  local idle = redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[4], '-', '+', 100)
  for at = 1, #idle do abandoned[at] = idle[at][1] end
end
return {now, alive, pending, abandoned}`,
  },
  rpcReadState: {
    numberOfKeys: 2,
    lua: `${luaNow}
local latest = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local alive = latest[2] and latest[2] - now or 0
local waited = 0
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
for _, info in ipairs(groups) do
  local field = {}
  for at = 1, #info, 2 do field[info[at]] = info[at + 1] end
  if field['name'] == ARGV[1] then
    local after = '(' .. field['last-delivered-id']
    local next = redis.call('XRANGE', KEYS[1], after, '+', 'COUNT', 1)[1]
    if next then waited = now - tonumber(string.match(next[1], '^%d+')) end
  end
end
return {alive, waited}`,
  },
  rpcAdd: {
    numberOfKeys: 1,
    lua: `${luaNow}
local oldest = string.format('%.0f', now - ARGV[1])
local ids = {}
local at = 2
while at <= #ARGV do
  local last = at + ARGV[at]
  ids[#ids + 1] = redis.call(
    'XADD', KEYS[1], 'NOMKSTREAM', 'MINID', '~', oldest, '*', unpack(ARGV, at + 1, last)
  )
  at = last + 1
end
return ids`,
  },
  rpcFinish: {
    numberOfKeys: 1,
    lua: `
local count = tonumber(ARGV[2])
redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 3, 2 + count))
redis.call('XDEL', KEYS[1], unpack(ARGV, 3, 2 + count))
for at = 3 + count, #ARGV, 2 do redis.call('PUBLISH', ARGV[at], ARGV[at + 1]) end`,
  },
  rpcReserve: {
    numberOfKeys: 1,
    lua: `
local won = redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'JUSTID')
if #won == 0 then return false end
local entry = redis.call('XRANGE', KEYS[1], ARGV[4], ARGV[4])[1]
if entry then return entry[2] end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[4])
return false`,
  },
  rpcDeliver: {
    numberOfKeys: 1,
    lua: `
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1, ARGV[2])
if #pending == 0 then return 0 end
return #redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3])`,
  },
  rpcRenew: {
    numberOfKeys: 1,
    lua: `
for at = 3, #ARGV do
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[at], ARGV[at], 1, ARGV[2])
  if #pending == 1 then redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[at], 'JUSTID') end
end`,
  },
  rpcDeadLetter: {
    numberOfKeys: 2,
    lua: `${luaNow}
local entry = redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1]
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
redis.call('XDEL', KEYS[1], ARGV[3])
if not entry then return end
local field = {}
for at = 1, #entry[2], 2 do field[entry[2][at]] = entry[2][at + 1] end
local deadLetter = {'entry', ARGV[3], 'reason', ARGV[4], 'deliveries', ARGV[5], 'replica', ARGV[2]}
local left = ${maxDeadLetterBytes}
local function keep(name, value)
  if #name > left then return end
  local bytes = math.min(#value, left - #name)
  deadLetter[#deadLetter + 1] = name
  deadLetter[#deadLetter + 1] = string.sub(value, 1, bytes)
  left = left - #name - bytes
end
for at = 1, #entry[2], 2 do
  if entry[2][at] ~= 'data' then keep(entry[2][at], entry[2][at + 1]) end
end
if field['data'] then keep('bytes', tostring(#field['data'])) end
redis.call('XADD', KEYS[2], 'MAXLEN', ${maxDeadLetters}, '*', unpack(deadLetter))
redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', now - ${deadLetterTtlMs}))
if field['channel'] and field['id'] then
  redis.call('PUBLISH', field['channel'], field['id'] .. '\\n' .. ARGV[6])
end`,
  },
  rpcLeave: {
    numberOfKeys: 2,
    lua: `
redis.call('ZREM', KEYS[2], ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 100, ARGV[2])
if #pending == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
return #pending`,
  },
  rpcRemoveDeadConsumers: {
    numberOfKeys: 2,
    lua: `${luaNow}
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[2])
local deleted = 0
for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local field = {}
  for at = 1, #info, 2 do field[info[at]] = info[at + 1] end
  local isIdle = field['idle'] > tonumber(ARGV[2])
  local isAlive = redis.call('ZSCORE', KEYS[2], field['name'])
  if isIdle and not isAlive and field['pending'] == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], field['name'])
    deleted = deleted + 1
  end
end
return deleted`,
  },
};

/** Adds the scripts to a connection. ioredis sends a script's text only if Redis lacks it. */
export function withScripts(redis: Redis | Cluster): ScriptedRedis {
  for (const [name, script] of Object.entries(scripts)) redis.defineCommand(name, script);
  return redis as ScriptedRedis;
}
