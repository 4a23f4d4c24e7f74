import pg from 'pg';
import {
  type App,
  type AppProcess,
  AppStack,
  eventually,
  startRedisServer,
  type TestServer,
} from '#testing';
import { EventFollower, note } from '../../../apps/deletion-worker/testing/event.follower.js';
import { episode, SimulatedUser } from './simulated.user.js';

type Service = Exclude<App, 'gateway'>;

/** The processes that run behind the gateway: two deletion workers, of which each has a relay. */
const services: readonly Service[] = [
  'subscription',
  'episode',
  'deletion-worker',
  'deletion-worker',
];

/** Parts of the system to kill. */
export const victims = [
  'subscription',
  'episode',
  'deletion-worker',
  'Redis',
  'Redis of the events',
  'Postgres',
] as const;

/** The whole system as built processes with events, writing users and an event consumer. */
export class EventStack {
  private writing = true;
  private readonly users: SimulatedUser[] = [];
  private writers: Promise<void>[] = [];
  /** Writes that were acknowledged. */
  writes = 0;

  private constructor(
    private readonly stack: AppStack,
    /** Position in the stream, stored when it is acknowledged. */
    private readonly events: TestServer,
    private readonly running: AppProcess[],
    private readonly owner: pg.Pool,
    readonly follower: EventFollower,
  ) {}

  static async open(users: number): Promise<EventStack> {
    const events = await startRedisServer({ durable: true, eachWrite: true });
    const environment = { EVENTS: 'on', EVENTS_REDIS_URL: events.url, LOG_LEVEL: 'warn' };
    const stack = await AppStack.open({
      durablePostgres: true,
      durableRedis: true,
      ownQueue: true,
      environment,
    });
    try {
      const owner = new pg.Pool({ connectionString: stack.postgres.url, max: 4 });
      owner.on('error', () => {});
      const [gateway, ...running] = await stack.start(['gateway', ...services]);
      const follower = new EventFollower(events.url, owner);
      const opened = new EventStack(stack, events, running, owner, follower);
      for (let n = 0; n < users; n += 1)
        opened.users.push(new SimulatedUser(await stack.device(gateway as AppProcess)));
      opened.writers = opened.users.map((user) => opened.write(user));
      return opened;
    } catch (error) {
      await Promise.all([stack.close(), events.dispose()]);
      throw error;
    }
  }

  /** Kills and restarts one part, in any state. */
  async kill(victim: (typeof victims)[number]): Promise<void> {
    const { stack, events } = this;
    const servers = {
      Redis: stack.redis,
      'Redis of the events': events,
      Postgres: stack.postgresServer,
    };
    if (victim in servers) {
      const server = servers[victim as keyof typeof servers];
      await server.kill();
      return server.start();
    }
    const place = this.running.findIndex(({ app }) => app === victim);
    const [killed] = this.running.splice(place, 1);
    await killed?.kill();
    this.running.push(...(await stack.start([victim as Service])));
  }

  /** Waits until some more writes were acknowledged. */
  async continueFor(count = 20): Promise<void> {
    const until = this.writes + count;
    const check = () => {
      if (this.writes < until) throw new Error(`${this.writes} writes, and not ${until}`);
    };
    await eventually(check, { timeout: 60_000 });
  }

  /** Stops the writers and waits for all events. @returns the violated rules. */
  async violations(): Promise<string[]> {
    this.writing = false;
    await Promise.all(this.writers);
    const pending = `
      SELECT (SELECT count(*) FROM sync.events)
        + (SELECT count(*) FROM deletion.deletions WHERE status = 'PENDING') AS n`;
    const check = async () => {
      const [found] = (await this.owner.query<{ n: string }>(pending)).rows;
      if (found?.n !== '0') throw new Error(`${found?.n} events and deletions wait`);
    };
    await eventually(check, { timeout: 90_000 });
    await this.follower.caughtUp();
    return this.follower.violations(await this.changes());
  }

  async close(): Promise<void> {
    this.writing = false;
    await Promise.allSettled(this.writers);
    await this.follower.stop();
    await this.owner.end().catch(() => undefined);
    await Promise.all([this.stack.close(), this.events.dispose()]);
  }

  /** Returns the last stamp of each `<user> <kind>` from the rows, acknowledged or not. */
  private async changes(): Promise<Map<string, string>> {
    const { rows } = await this.owner.query<{ user: string; kind: 'subscriptions'; stamp: Date }>(
      `SELECT user_id AS "user", 'subscriptions' AS kind, max(changed) AS stamp
       FROM subscription.subscriptions GROUP BY 1
       UNION ALL SELECT user_id, 'episodes', max(changed) FROM episode.states GROUP BY 1
       UNION ALL SELECT user_id, 'episodes', max(deleted)
       FROM subscription.subscriptions
       WHERE deleted IS NOT NULL GROUP BY 1
       UNION ALL SELECT user_id, 'deletions', max(requested) FROM deletion.deletions GROUP BY 1
       UNION ALL SELECT user_id, 'deletions', max(deleted)
       FROM subscription.subscriptions
       WHERE deleted IS NOT NULL GROUP BY 1`,
    );
    const last = new Map<string, string>();
    for (const { user, kind, stamp } of rows) note(last, user, [kind], stamp.toISOString());
    return last;
  }

  /** Repeats subscribing, uploading and deleting. Failed requests are not retried. */
  private async write(user: SimulatedUser): Promise<void> {
    for (let n = 0; this.writing; n += 1) {
      const { status, body } = await this.send(user, 'POST', '/subscriptions', {
        subscriptions: [{ feed_url: `https://feeds.example/${user.id}/${n % 5}` }],
      });
      if (status !== 200) continue;
      const [{ guid }] = body['success'] as [{ guid: string }];
      for (const name of ['one', 'two'])
        await this.send(user, 'POST', '/episodes', { episodes: [episode(guid, name, n)] });
      if (n % 3 === 2) await this.send(user, 'DELETE', `/subscriptions/${guid}`);
    }
  }

  /** @throws Error while the services are unavailable and users still write. */
  private async checkServed(user: SimulatedUser): Promise<void> {
    if (this.writing && (await user.device.send('GET', '/episodes')).status >= 300)
      throw new Error('not served');
  }

  private async send(user: SimulatedUser, method: string, path: string, body?: object) {
    const answer = await user.device.send(method, path, { body });
    if (answer.status < 300) this.writes += 1;
    else await eventually(async () => this.checkServed(user)).catch(() => undefined);
    return answer;
  }
}
