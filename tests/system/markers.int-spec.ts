import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, assert, beforeAll, expect, it } from 'vitest';
import { Failure, JsonText } from '#contracts';
import { createPool, Database } from '#database';
import { freshUser } from '#testing';
import type { CallContext } from '#transport';
import { deletionWorkerConfig } from '../../apps/deletion-worker/src/deletion-worker.config.js';
import type { DeletionRelay } from '../../apps/deletion-worker/src/queue/deletion-relay.js';
import { DeletionService } from '../../apps/deletion-worker/src/records/deletion.service.js';
import { episodeConfig } from '../../apps/episode/src/episode.config.js';
import { EpisodeService } from '../../apps/episode/src/episode.service.js';
import { sentBody as sentEpisodes } from '../../apps/episode/testing/sent-entry.js';
import { subscriptionConfig } from '../../apps/subscription/src/subscription.config.js';
import { SubscriptionService } from '../../apps/subscription/src/subscription.service.js';
import { sentBody as sentSubscriptions } from '../../apps/subscription/testing/sent-entry.js';
import {
  type DatabaseContext,
  openDatabase,
} from '../../libs/database/testing/database-context.js';
import { call } from '../../libs/transport/testing/handler-call.js';

const full = Boolean(process.env.TEST_FULL);
const settings = { DATABASE_URL: 'postgres://database' };

let fixture: DatabaseContext;
let databases: Database[];
let subscriptions: SubscriptionService;
let episodes: EpisodeService;
let deletions: DeletionService;
let everyRow: string;

beforeAll(async () => {
  fixture = await openDatabase('deletion');
  const open = (url: string) => new Database(createPool({ url, poolSize: 2 }));
  databases = [fixture.urls.subscription, fixture.urls.episode].map(open);
  subscriptions = new SubscriptionService(
    databases[0] as Database,
    subscriptionConfig.parse(settings),
  );
  episodes = new EpisodeService(databases[1] as Database, episodeConfig.parse(settings));
  // A relay would change records at any time.
  const relay = { pollNow: () => undefined } as unknown as DeletionRelay;
  deletions = new DeletionService(fixture.database, relay, deletionWorkerConfig.parse(settings));
  const { rows } = await fixture.owner.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE a.attname = 'user_id' AND c.relkind = 'r'
       AND n.nspname IN ('sync', 'subscription', 'episode', 'deletion') ORDER BY 1`,
  );
  everyRow = rows
    .map(
      ({ name }) =>
        `SELECT '${name}' AS of, to_jsonb(t)::text AS row FROM ${name} t WHERE user_id = $1`,
    )
    .join(' UNION ALL ');
});

afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await fixture.close();
});

/** Returns all rows of a user, including marker, answer and clock. */
async function rowsOf(userId: string): Promise<string[]> {
  const { rows } = await fixture.owner.query<{ of: string; row: string }>(everyRow, [userId]);
  return rows.map(({ of, row }) => `${of} ${row}`).sort();
}

/** Returns a guid, or with another digit a sync_id. Random requests repeat small numbers. */
const guidOf = (n: number, digit = 'a') =>
  `${digit}0000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const feedOf = (n: number) => `https://podcast.example/${n}`;

const few = fc.nat(3);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const subscribeEntry = fc.record({
  feedUrl: few.map(feedOf),
  guid: maybe(few.map((n) => guidOf(n))),
});
const uploadEntry = fc.record({
  podcastGuid: few.map((n) => guidOf(n)),
  syncId: maybe(few.map((n) => guidOf(n, 'b'))),
  episodeGuid: few.map((n) => `episode ${n}`),
  title: few.map((n) => `Title ${n}`),
  publishDate: fc.constant('2025-01-01T00:00:00Z'),
  enclosureUrl: few.map((n) => `https://media.example/${n}`),
  episodeUrl: fc.constant('https://podcast.example/episode'),
  playbackPosition: maybe(
    fc.record(
      { value: fc.nat(9), timestamp: few.map((n) => `2026-01-01T0${n}:00:00Z`) },
      { noNullPrototype: true },
    ),
  ),
});
const batch = { minLength: 1, maxLength: 3 };
const write = fc.oneof(
  fc.record({ does: fc.constant('subscribe' as const), entries: fc.array(subscribeEntry, batch) }),
  fc.record({ does: fc.constant('upload' as const), entries: fc.array(uploadEntry, batch) }),
  fc.record({
    does: fc.constant('update' as const),
    guid: few.map((n) => guidOf(n)),
    newGuid: maybe(few.map((n) => guidOf(n))),
    newFeedUrl: maybe(few.map(feedOf)),
    isSubscribed: maybe(fc.boolean()),
  }),
  fc.record({ does: fc.constant('delete' as const), guid: few.map((n) => guidOf(n)) }),
);
type Write = typeof write extends fc.Arbitrary<infer Value> ? Value : never;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ is: fc.constant('write' as const), write, hasKey: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ is: fc.constant('again' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('process' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('answers go' as const) }) },
);

const written = {
  subscribe: 0,
  upload: 0,
  update: 0,
  delete: 0,
  merge: 0,
  failure: 0,
  'judged again': 0,
};

/** The requests of one user with their answers. */
class Requests {
  readonly userId = freshUser();
  private readonly sent: {
    write: Write;
    id: string;
    key?: string;
    answer: string;
    isKept: boolean;
  }[] = [];
  private readonly deletionIds: number[] = [];

  private run(request: Write, context: CallContext) {
    const { userId } = this;
    switch (request.does) {
      case 'subscribe':
        return subscriptions.subscribe(
          { userId, body: sentSubscriptions(request.entries) },
          context,
        );
      case 'upload':
        return episodes.upload({ userId, body: sentEpisodes(request.entries) }, context);
      case 'update': {
        const { guid, newGuid, newFeedUrl, isSubscribed } = request;
        return subscriptions.update({ userId, guid, newGuid, newFeedUrl, isSubscribed }, context);
      }
      case 'delete':
        return deletions.request({ userId, guid: request.guid }, context);
    }
  }

  /** Runs a write. @returns the text of its answer, or the code of its failure. */
  private async deliver(request: Write, id: string, fingerprint?: string): Promise<string> {
    try {
      const reply = await this.run(request, call(id, 10_000, fingerprint));
      if (reply instanceof JsonText) return reply.toString();
      this.deletionIds.push(reply.deletionId);
      return JSON.stringify(reply);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return error.code;
    }
  }

  async send(request: Write, hasKey: boolean): Promise<void> {
    const id = randomUUID();
    const key = hasKey ? Buffer.from(id).toString('hex') : undefined;
    const answer = await this.deliver(request, id, key);
    const failed = !answer.startsWith('{');
    written[request.does] += answer.startsWith('{"success":[]') ? 0 : 1;
    if (failed) written.failure += 1;
    const isKept = hasKey || failed || request.does === 'delete';
    this.sent.push({ write: request, id, ...(key !== undefined && { key }), answer, isKept });
  }

  /** Delivers a request that was answered once more; one with a key as another request, too. */
  async again(which: number): Promise<void> {
    const one = this.sent[which % this.sent.length];
    if (!one) return;
    const before = await rowsOf(this.userId);
    const answer = await this.deliver(one.write, one.id, one.key);
    assert.deepEqual(
      await rowsOf(this.userId),
      before,
      `${JSON.stringify(one)} was delivered again`,
    );
    if (one.isKept) assert.equal(answer, one.answer);
    // Runs again: each entry of a batch has a result for any current value.
    else if (['subscribe', 'upload'].includes(one.write.does))
      assert.match(answer, /^\{"success":/);
    if (!one.isKept) written['judged again'] += 1;
    if (one.key === undefined) return;
    assert.equal(await this.deliver(one.write, one.id, 'ff'), 'invalid');
    assert.deepEqual(await rowsOf(this.userId), before);
  }

  async everyOneAgain(): Promise<void> {
    for (const which of this.sent.keys()) await this.again(which);
    const { rows } = await fixture.owner.query<{ merges: number }>(
      `SELECT count(*)::int AS merges
       FROM subscription.subscriptions
       WHERE user_id = $1 AND merged_into IS NOT NULL`,
      [this.userId],
    );
    written.merge += rows[0]?.merges ?? 0;
  }

  async process(which: number): Promise<void> {
    const deletionId = this.deletionIds[which % this.deletionIds.length];
    if (deletionId !== undefined) await deletions.process({ userId: this.userId, deletionId });
  }

  /** Deletes the stored answers, as the limit of their size does. */
  async loseAnswers(): Promise<void> {
    await fixture.owner.query('DELETE FROM sync.answer WHERE user_id = $1', [this.userId]);
    for (const one of this.sent) one.isKept = false;
  }
}

it(
  'a redelivered request changes no row, and returns its first answer if that is stored',
  { timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
        const requests = new Requests();
        for (const each of steps) {
          if (each.is === 'write') await requests.send(each.write, each.hasKey);
          else if (each.is === 'again') await requests.again(each.which);
          else if (each.is === 'process') await requests.process(each.which);
          else await requests.loseAnswers();
        }
        await requests.everyOneAgain();
      }),
      { numRuns: full ? 200 : 25, maxSkipsPerRun: 0, endOnFailure: true },
    );
    console.log(written);
    for (const [what, count] of Object.entries(written))
      expect({ what, count }).not.toEqual({ what, count: 0 });
  },
);
