import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { LastState, type Log } from '#runtime';
import { connectRedis, type RedisConfig } from '#redis';

/**
 * A revocation. Its id depends on the kind:
 * - `grant`, `session` and `gpodder_session`: the grant or session, as in the claim `gid` of tokens
 * - `user`: the user, for all credentials issued until now
 * - `credential`: an app password
 */
export interface Revocation {
  readonly kind: 'grant' | 'session' | 'user' | 'credential' | 'gpodder_session';
  readonly id: string;
}

/**
 * Redis streams of revocations, on one node of a Redis Cluster. App passwords and their sessions
 * have their own stream, because any user can create and revoke many of them, and these must not
 * evict other revocations.
 */
export const revocationStreams = {
  tokens: '{revocations}:tokens',
  credentials: '{revocations}:credentials',
} as const;
const streamNames = Object.values(revocationStreams);
const credentialKinds: readonly string[] = ['credential', 'gpodder_session'];

/** Retention of a revocation in ms: longer than access tokens of the account app are valid. */
const retentionMs = 11 * 60_000;

/** Maximum revocations of a stream. Above it, tokens of the oldest stay valid until they expire. */
const maxRevocations = 100_000;

/** Adds entries to the stream of their kind, and trims both by age (Redis time) and length. */
const addScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for index = 3, #ARGV, 2 do
  local isOfCredentials = ARGV[index] == 'credential' or ARGV[index] == 'gpodder_session'
  local stream = isOfCredentials and KEYS[2] or KEYS[1]
  redis.call('XADD', stream, 'MAXLEN', ARGV[2], '*', 'kind', ARGV[index], 'id', ARGV[index + 1])
end
for _, stream in ipairs(KEYS) do
  redis.call('XTRIM', stream, 'MINID', string.format('%d', now - ARGV[1]))
end
`;

/** Maximum revocations per script call, during which Redis runs no other command. */
const maxPerCall = 500;

/** Publishes revocations to every process that accepts credentials. */
export class RevocationWriter {
  /** Numbers of published revocations by kind, and of failed calls (`unannounced`), for metrics. */
  readonly counts = {
    user: 0,
    grant: 0,
    session: 0,
    credential: 0,
    gpodder_session: 0,
    unannounced: 0,
  };

  constructor(
    private readonly redis: Redis | Cluster,
    private readonly log: Log,
  ) {}

  /**
   * Publishes revocations with the Redis time of this call. Call it after the commit in Postgres,
   * because receivers then look up the credentials again. It is idempotent.
   *
   * Logs a failure and never rejects, because the commit has ended the credentials. Receivers get
   * no notification without Redis, or if this process dies between the commit and this call. Then:
   * - App passwords and gpodder sessions stay valid until their next lookup, at most 60 s
   *   ({@link CredentialCache}).
   * - Access tokens stay valid until they expire, at most ten minutes.
   * - A repeated end of a gpodder session or attempt of an erasure publishes the revocation again.
   */
  async revoke(revocations: readonly Revocation[]): Promise<void> {
    try {
      for (let start = 0; start < revocations.length; start += maxPerCall) {
        const kindsAndIds = revocations
          .slice(start, start + maxPerCall)
          .flatMap(({ kind, id }) => [kind, id]);
        await this.redis.eval(
          addScript,
          streamNames.length,
          ...streamNames,
          retentionMs,
          maxRevocations,
          ...kindsAndIds,
        );
      }
      for (const { kind } of revocations) this.counts[kind] += 1;
    } catch (error) {
      this.counts.unannounced += 1;
      this.log.warn(
        { err: error, kinds: [...new Set(revocations.map(({ kind }) => kind))] },
        'revocation not published to Redis: access tokens stay valid for up to 10 minutes, ' +
          'app passwords and gpodder sessions for 1 minute',
      );
    }
  }
}

/** A credential to check against revocations. */
export interface AcceptedCredential {
  readonly userId: string;
  /** Id of the grant or browser session of a token, or of a gpodder session. */
  readonly gid?: string | undefined;
  /** Time of a token's issue, in s since 1970. Without it, any revocation of the user counts. */
  readonly issuedAt?: number | undefined;
  readonly credentialId?: string;
  /** Time of the lookup of an app password (`performance.now()`). */
  readonly lookedUpAt?: number;
}

interface StoredRevocation {
  /** Time of the revocation in milliseconds, by the clock of Redis. */
  readonly at: number;
  /** Time at which this process first received the revocation (`performance.now()`). */
  readonly receivedAt: number;
}

/** Creates an empty cache. With `max` instead of `maxSize`, it would allocate all entries now. */
const createRevocationCache = () =>
  new LRUCache<string, StoredRevocation>({
    maxSize: maxRevocations,
    sizeCalculation: () => 1,
    ttl: retentionMs,
    ttlResolution: 1_000,
  });

/** Entries of a stream in the reply to a read. */
type StreamEntries = [stream: string, entries: [id: string, fields: string[]][]];

/** Maximum time in ms that a read waits for new revocations. */
const blockMs = 2_000;
/** Maximum entries of one read. */
const maxPerRead = 1_000;
/**
 * Time limit at the start for reading the retained revocations, in milliseconds. The app then
 * starts without them.
 */
const openLimitMs = 2_000;
/** Pause after a failed read, in milliseconds. */
const retryMs = 250;

/**
 * Subscribes to revocations and stores those of the last 11 minutes in memory. Invariants:
 * - A revocation arrives as soon as it is written, while Redis is available. After a start or a
 *   reconnect, all retained revocations are read again, because Redis can be another server.
 * - The stored revocations have the same maximum number and age as those of a stream.
 */
export class Revocations {
  private readonly tokenRevocations = createRevocationCache();
  private readonly credentialRevocations = createRevocationCache();
  private receivedCount = 0;
  private readonly redis: Redis | Cluster;
  private readonly closeController = new AbortController();
  private readonly lastState = new LastState<'connected' | 'disconnected'>('connected');
  private readonly subscription: Promise<void>;
  private resolveFirstRead!: () => void;
  private readonly firstRead = new Promise<void>((resolve) => (this.resolveFirstRead = resolve));

  constructor(
    config: RedisConfig,
    private readonly log: Log,
  ) {
    this.redis = connectRedis(config);
    // Ignores errors of the connection, because `subscribe` logs failures of Redis.
    this.redis.on('error', () => {});
    this.subscription = this.subscribe();
  }

  /** Resolves when all retained revocations are read, or after {@link openLimitMs}. */
  async waitUntilOpen(): Promise<void> {
    await Promise.race([this.firstRead, delay(openLimitMs, undefined, { ref: false })]);
  }

  /**
   * Returns true if a received revocation ends a credential. It is one of the grant, session or app
   * password, or one of the user that is later than the credential's issue or lookup.
   */
  isRevoked({ userId, gid, issuedAt, credentialId, lookedUpAt }: AcceptedCredential): boolean {
    if (this.size === 0) return false;
    if (
      gid !== undefined &&
      (this.tokenRevocations.has(`gid:${gid}`) || this.credentialRevocations.has(`gid:${gid}`))
    )
      return true;
    if (credentialId !== undefined && this.credentialRevocations.has(`credential:${credentialId}`))
      return true;
    const user = this.tokenRevocations.peek(`user:${userId}`);
    if (!user) return false;
    if (lookedUpAt !== undefined) return lookedUpAt <= user.receivedAt;
    return issuedAt === undefined || issuedAt * 1_000 <= user.at;
  }

  /** Number of received revocations. While it does not change, no credential becomes revoked. */
  get received(): number {
    return this.receivedCount;
  }

  get size(): number {
    return this.tokenRevocations.size + this.credentialRevocations.size;
  }

  async close(): Promise<void> {
    this.closeController.abort();
    this.redis.disconnect();
    await this.subscription;
  }

  private async subscribe(): Promise<void> {
    const { signal } = this.closeController;
    while (!signal.aborted) {
      try {
        if (this.redis.status !== 'ready') await once(this.redis, 'ready', { signal });
        else await this.readStreams();
      } catch (error) {
        if (signal.aborted) return;
        if (this.lastState.changeTo('disconnected'))
          this.log.warn(
            { outage: 'Redis', err: error },
            'revocation stream unavailable: revoked access tokens stay valid for up to ' +
              '10 minutes, app passwords for 1 minute',
          );
        await delay(retryMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Reads retained revocations, then new ones, until an error such as a lost connection. */
  private async readStreams(): Promise<never> {
    const [seconds] = await this.redis.time();
    const lastIds = new Map<string, string>(
      streamNames.map((stream) => [stream, `${Number(seconds) * 1_000 - retentionMs}-0`]),
    );
    /** True until all retained revocations are read. Then reads wait for new ones. */
    let isBehind = true;
    for (;;) {
      const reply: StreamEntries[] | null = isBehind
        ? await this.redis.xread(
            'COUNT',
            maxPerRead,
            'STREAMS',
            ...streamNames,
            ...lastIds.values(),
          )
        : await this.redis.xread(
            'COUNT',
            maxPerRead,
            'BLOCK',
            blockMs,
            'STREAMS',
            ...streamNames,
            ...lastIds.values(),
          );
      for (const [stream, entries] of reply ?? []) {
        for (const [id, fields] of entries) this.storeRevocation(Number.parseInt(id), fields);
        lastIds.set(stream, entries.at(-1)?.[0] as string);
      }
      isBehind = (reply ?? []).some(([, entries]) => entries.length === maxPerRead);
      // Deletes expired revocations only if none arrived. Otherwise `maxRevocations` limits them.
      if (!reply)
        for (const cache of [this.tokenRevocations, this.credentialRevocations]) cache.purgeStale();
      if (isBehind) continue;
      this.resolveFirstRead();
      if (this.lastState.changeTo('connected'))
        this.log.info({ outage: 'Redis' }, 'revocation stream available again');
    }
  }

  private storeRevocation(revokedAt: number, fields: readonly string[]): void {
    this.receivedCount += 1;
    // The fields have the order in which `addScript` adds them.
    const [, kind = '', , id = ''] = fields;
    const key = `${kind === 'user' || kind === 'credential' ? kind : 'gid'}:${id}`;
    const cache = credentialKinds.includes(kind)
      ? this.credentialRevocations
      : this.tokenRevocations;
    const existing = cache.peek(key);
    if (existing && existing.at >= revokedAt) return;
    cache.set(key, { at: revokedAt, receivedAt: performance.now() });
  }
}
