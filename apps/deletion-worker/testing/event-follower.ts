import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, Redis } from 'ioredis';
import type pg from 'pg';
import { changeEvent, type ChangeEvent, type EventKind, eventStream } from '#contracts';
import { eventually } from '#testing';

type Entry = [id: string, fields: string[]];

/** Parses the event of an entry by its contract. */
function eventOf([, fields]: Entry): ChangeEvent {
  const pairs = fields.flatMap((field, n) => (n % 2 === 0 ? [[field, fields[n + 1]]] : []));
  return changeEvent.strict().parse(Object.fromEntries(pairs));
}

/** Reads all events of the stream in a Redis, oldest first. */
export async function eventsIn(redis: Redis | Cluster): Promise<ChangeEvent[]> {
  return ((await redis.xrange(eventStream.key, '-', '+')) as Entry[]).map(eventOf);
}

/**
 * Reads the stream in its own consumer group, as another service does, and compares each event with
 * the clock of its user.
 */
export class EventFollower {
  /** Ids of the entries that were delivered. */
  readonly read = new Set<string>();
  /** Events that arrived before the commit of their changes. */
  readonly early: ChangeEvent[] = [];
  private readonly redis: Redis;
  private readonly group = `follower-${randomUUID()}`;
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;

  constructor(
    url: string,
    private readonly owner: pg.Client | pg.Pool,
  ) {
    this.redis = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 0 });
    this.redis.on('error', () => {});
    this.running = this.run();
  }

  /**
   * Returns the violated guarantees of the stream.
   *
   * @param last the stamp of the last write of each `<user> <kind>`.
   */
  async violations(last: ReadonlyMap<string, string>): Promise<string[]> {
    const found: string[] = this.early.map(({ user, stamp }) => `early: ${user} ${stamp}`);
    const stamps = new Map<string, string>();
    const entries = (await this.redis.xrange(eventStream.key, '-', '+')) as Entry[];
    const unread = entries
      .filter(([id]) => !this.read.has(id))
      .map(([id]) => `not delivered: ${id}`);
    for (const { user, kinds, stamp } of entries.map(eventOf)) {
      if (stamp < (stamps.get(user) ?? '')) found.push(`goes back: ${user} ${stamp}`);
      for (const key of [user, ...kinds.split(',').map((kind) => `${user} ${kind}`)])
        stamps.set(key, stamp);
    }
    for (const [key, stamp] of last)
      if ((stamps.get(key) ?? '') < stamp) found.push(`missing: ${key} ${stamp}`);
    return [...found, ...unread];
  }

  /** Resolves when the last entry of the stream was delivered. */
  async caughtUp(): Promise<void> {
    await eventually(async () => {
      const [last] = (await this.redis.xrevrange(eventStream.key, '+', '-', 'COUNT', 1)) as Entry[];
      if (last && !this.read.has(last[0]))
        throw new Error('the follower has not read the last event');
    });
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    this.redis.disconnect();
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      // First the unacknowledged entries, which a connection loss can have left.
      const more = await this.readFrom('0')
        .then(() => this.readFrom('>'))
        .catch((error: Error) => this.create(error));
      if (!more) await delay(10, undefined, { signal }).catch(() => undefined);
    }
  }

  private async create({ message }: Error): Promise<boolean> {
    if (message.startsWith('NOGROUP'))
      await this.redis
        .xgroup('CREATE', eventStream.key, this.group, '0', 'MKSTREAM')
        .catch(() => undefined);
    return false;
  }

  private async readFrom(id: string): Promise<boolean> {
    const options = [
      'GROUP',
      this.group,
      'one',
      'COUNT',
      100,
      'STREAMS',
      eventStream.key,
      id,
    ] as const;
    const answer = (await this.redis.xreadgroup(...options)) as [string, Entry[]][] | null;
    const entries = answer?.[0]?.[1] ?? [];
    if (entries.length === 0) return false;
    await this.compare(entries.map(eventOf));
    // Added before the acknowledgement, because an acknowledged entry is not delivered again.
    for (const [entry] of entries) this.read.add(entry);
    await this.redis.xack(eventStream.key, this.group, ...entries.map(([entry]) => entry));
    return true;
  }

  private async compare(events: readonly ChangeEvent[]): Promise<void> {
    const users = events.map(({ user }) => user);
    const select = 'SELECT user_id AS "user", stamp FROM sync.user_clock WHERE user_id = ANY ($1)';
    const { rows } = await eventually(() =>
      this.owner.query<{ user: string; stamp: Date }>(select, [users]),
    );
    const clocks = new Map(rows.map(({ user, stamp }) => [user, stamp.toISOString()]));
    this.early.push(...events.filter(({ user, stamp }) => stamp > (clocks.get(user) ?? '')));
  }
}

/** Adds the stamp of a write to the parameter of {@link EventFollower.violations}. */
export function note(
  last: Map<string, string>,
  user: string,
  kinds: readonly EventKind[],
  stamp: string,
): void {
  for (const kind of kinds)
    if (stamp > (last.get(`${user} ${kind}`) ?? '')) last.set(`${user} ${kind}`, stamp);
}
