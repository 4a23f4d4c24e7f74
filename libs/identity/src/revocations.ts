import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { Condition, type Log } from '#runtime';
import { connectRedis, type RedisConfig } from '#redis';

/**
 * What is revoked: a grant or a session (the `gid` of tokens), everything that a user was given until now, one app password
 * by its id, or one session of the gpodder API (a `gid` as well).
 */
export interface Revocation {
  readonly kind: 'grant' | 'session' | 'user' | 'credential' | 'gpodder_session';
  readonly id: string;
}

/**
 * The streams in Redis that carry revocations to whoever accepts credentials, on one node of a Redis Cluster. App
 * passwords and what is begun with them have their own: anybody makes and removes any number of them, which is to push
 * nobody else's revocations out.
 */
export const revocationStreams = {
  tokens: '{revocations}:tokens',
  credentials: '{revocations}:credentials',
} as const;
const streams = Object.values(revocationStreams);
/** What goes into the stream of app passwords. */
const ofCredentials: readonly string[] = ['credential', 'gpodder_session'];

/** How long one is kept, in milliseconds: longer than any access token that we issue is valid. */
const keptMs = 11 * 60_000;

/** Revocations of a stream that are kept at most. Beyond it the oldest end early; the tokens that they name end by themselves. */
const mostKept = 100_000;

/** Adds entries to the stream of their kind, and drops what is too old or too much, all by Redis' time. */
const add = `
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

/** Revocations of one step; Redis does nothing else while it adds them. */
const perStep = 500;

/** Tells every process that accepts credentials what is valid no more. */
export class RevocationWriter {
  /** What was revoked by this process, and `unannounced` attempts, for metrics. */
  readonly counts = { user: 0, grant: 0, session: 0, credential: 0, gpodder_session: 0, unannounced: 0 };

  constructor(private readonly redis: Redis | Cluster) {}

  /**
   * Revokes from Redis' time of this call on. To be called when what it says is committed in Postgres: whoever hears of it
   * asks there again. Twice is once.
   *
   * @throws Error where Redis is away: access tokens then live until they expire, ten minutes at most, and app passwords
   * for a minute.
   */
  async revoke(revocations: readonly Revocation[]): Promise<void> {
    for (let from = 0; from < revocations.length; from += perStep) {
      const entries = revocations.slice(from, from + perStep).flatMap(({ kind, id }) => [kind, id]);
      try {
        await this.redis.eval(add, streams.length, ...streams, keptMs, mostKept, ...entries);
      } catch (error) {
        this.counts.unannounced += 1;
        throw error;
      }
    }
    for (const { kind } of revocations) this.counts[kind] += 1;
  }
}

/** A credential that was accepted, or could be. */
export interface Accepted {
  readonly userId: string;
  /** The grant or session that a token was issued for, or a session of the gpodder API. */
  readonly gid?: string | undefined;
  /** When a token was issued, in seconds; one that does not say it counts as old. */
  readonly issuedAt?: number | undefined;
  /** The id of an app password. */
  readonly credentialId?: string;
  /** When somebody asked for an app password, by `performance.now()`. */
  readonly askedAt?: number;
}

/** A revocation as it is remembered. */
interface Heard {
  /** When it was made, by Redis' time, in milliseconds. */
  readonly at: number;
  /** When this process heard of it first, by `performance.now()`. */
  readonly heardAt: number;
}

/** What a read answers of a stream. */
type Entries = [stream: string, entries: [id: string, fields: string[]][]];

/** How long Redis may let a read wait, in milliseconds. */
const blockMs = 2_000;
/** Entries that are read at once. */
const perRead = 1_000;
/** How long a start waits for Redis, in milliseconds. */
const openLimitMs = 2_000;
/** The pause after a failed read, in milliseconds. */
const retryMs = 250;

/**
 * The revocations of the last minutes, kept in memory and followed.
 * - Each one arrives as soon as it is written while Redis works. After a lost connection all that are kept are read
 *   again, as Redis may be another server now; so a process that starts knows them, too.
 * - What is remembered is bounded in number and time, by the same bounds as each stream.
 */
export class Revocations {
  private readonly tokens = new Map<string, Heard>();
  private readonly credentials = new Map<string, Heard>();
  private count = 0;
  private readonly redis: Redis | Cluster;
  private readonly ending = new AbortController();
  private readonly condition = new Condition<'followed' | 'away'>('followed');
  private readonly following: Promise<void>;
  private caughtUp!: () => void;
  private readonly first = new Promise<void>((resolve) => (this.caughtUp = resolve));

  constructor(
    config: RedisConfig,
    private readonly log: Log,
  ) {
    this.redis = connectRedis(config);
    // Failures are handled where it reads.
    this.redis.on('error', () => {});
    this.following = this.follow();
  }

  /** Resolves when all that are kept have been read, or after {@link openLimitMs}: a process also starts without Redis. */
  async opened(): Promise<void> {
    await Promise.race([this.first, delay(openLimitMs, undefined, { ref: false })]);
  }

  /** Whether a credential was revoked since it was issued or asked for. */
  refuses({ userId, gid, issuedAt, credentialId, askedAt }: Accepted): boolean {
    if (this.size === 0) return false;
    if (gid !== undefined && (this.tokens.has(`gid:${gid}`) || this.credentials.has(`gid:${gid}`))) return true;
    if (credentialId !== undefined && this.credentials.has(`credential:${credentialId}`)) return true;
    const user = this.tokens.get(`user:${userId}`);
    if (!user) return false;
    if (askedAt !== undefined) return askedAt <= user.heardAt;
    return issuedAt === undefined || issuedAt * 1_000 <= user.at;
  }

  /** How many were heard of until now, also again: as long as it is the same, what was not refused still is not. */
  get heard(): number {
    return this.count;
  }

  /** Revocations that are remembered. */
  get size(): number {
    return this.tokens.size + this.credentials.size;
  }

  async close(): Promise<void> {
    this.ending.abort();
    this.redis.disconnect();
    await this.following;
  }

  private async follow(): Promise<void> {
    const { signal } = this.ending;
    while (!signal.aborted) {
      try {
        if (this.redis.status !== 'ready') await once(this.redis, 'ready', { signal });
        else await this.readOn();
      } catch (error) {
        if (signal.aborted) return;
        if (this.condition.becomes('away'))
          this.log.warn({ err: error }, 'revocations are not heard of, as Redis is away');
        await delay(retryMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Reads all that are kept, and what comes. Ends only by an error, as when the connection is lost. */
  private async readOn(): Promise<never> {
    const [seconds] = await this.redis.time();
    const last = new Map<string, string>(streams.map((stream) => [stream, `${Number(seconds) * 1_000 - keptMs}-0`]));
    let isLate = true;
    for (;;) {
      const reply: Entries[] | null = isLate
        ? await this.redis.xread('COUNT', perRead, 'STREAMS', ...streams, ...last.values())
        : await this.redis.xread('COUNT', perRead, 'BLOCK', blockMs, 'STREAMS', ...streams, ...last.values());
      for (const [stream, entries] of reply ?? []) {
        for (const [id, fields] of entries) this.remember(Number.parseInt(id), fields);
        last.set(stream, entries.at(-1)?.[0] as string);
      }
      isLate = (reply ?? []).some(([, entries]) => entries.length === perRead);
      this.forget();
      if (isLate) continue;
      this.caughtUp();
      if (this.condition.becomes('followed')) this.log.info('revocations are heard of again');
    }
  }

  private remember(at: number, fields: readonly string[]): void {
    this.count += 1;
    const { kind = '', id = '' } = Object.fromEntries(pairs(fields));
    const key = `${kind === 'user' || kind === 'credential' ? kind : 'gid'}:${id}`;
    const heard = ofCredentials.includes(kind) ? this.credentials : this.tokens;
    const known = heard.get(key);
    if (known && known.at >= at) return;
    // Inserted anew, so that the oldest is the first to be forgotten.
    heard.delete(key);
    heard.set(key, { at, heardAt: performance.now() });
  }

  private forget(): void {
    const oldest = performance.now() - keptMs;
    for (const heard of [this.tokens, this.credentials])
      for (const [key, { heardAt }] of heard) {
        if (heardAt >= oldest && heard.size <= mostKept) break;
        heard.delete(key);
      }
  }
}

function pairs(fields: readonly string[]): [string, string][] {
  return fields.flatMap((field, index) =>
    index % 2 === 0 ? [[field, fields[index + 1] ?? ''] as [string, string]] : [],
  );
}
