import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freshUser } from '#testing';
import { deleteSubscription } from '../../apps/deletion-worker/src/records/deletion.repository.js';
import { call } from '../../libs/transport/testing/handler-call.js';
import {
  openService,
  type ServiceContext,
} from '../../apps/subscription/testing/service-context.js';

const full = Boolean(process.env.TEST_FULL);

let context: ServiceContext;
beforeAll(async () => {
  context = await openService();
});
afterAll(() => context.close());

/** Few names, so that feeds meet in moves, renamings and merges, or differ in the scheme only. */
const urls = [
  'https://a.example/f',
  'http://a.example/f',
  'https://b.example/f%20g',
  'https://c.example/f',
  'https://d.example/f',
];
const guids = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
const devices = 3;

const url = fc.constantFrom(...urls);
const guid = fc.constantFrom(...guids);
const device = fc.nat({ max: devices - 1 });
/** One of the subscriptions that the user has, deleted ones aside. */
const place = fc.nat({ max: 9 });
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('post' as const),
      url,
      guid: fc.option(guid, { nil: undefined }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('unsubscribe' as const), which: place }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), which: place, url }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), which: place, guid }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), which: place }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), device, url }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), device, which: place }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('poll' as const), device, lost: fc.boolean() }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Made> ? Made : never;

/** A device: its feeds and the last received timestamp. */
interface Device {
  readonly credentialId: string;
  readonly sessionId: string;
  feeds: Set<string>;
  since: number;
  /** True after a lost answer: every app then restarts its sync before it uploads. */
  missed: boolean;
}

/** A user with devices of the gpodder API and one of the main API. */
class Walk {
  private readonly userId = freshUser();
  private readonly devices: Device[] = Array.from({ length: devices }, () => ({
    credentialId: randomUUID(),
    sessionId: randomUUID(),
    feeds: new Set(),
    since: 0,
    missed: false,
  }));

  async take(next: Step): Promise<void> {
    const { userId } = this;
    if (next.do === 'post')
      await context.service.subscribe(
        { userId, body: { subscriptions: [{ feed_url: next.url, guid: next.guid }] } },
        call(),
      );
    else if (next.do === 'add') await this.add(this.devices[next.device] as Device, next.url);
    else if (next.do === 'remove')
      await this.remove(this.devices[next.device] as Device, next.which);
    else if (next.do === 'poll') await this.poll(this.devices[next.device] as Device, next.lost);
    else {
      const one = await this.one(next.which);
      if (one === undefined) return;
      if (next.do === 'delete') {
        const advance = 'SELECT sync.advance_clock($1) AS stamp';
        const { rows } = await context.owner.query<{ stamp: Date }>(advance, [userId]);
        return void (await context.owner.query(deleteSubscription.text, [
          userId,
          one.id,
          rows[0]?.stamp,
        ]));
      }
      const patch = {
        ...(next.do === 'unsubscribe' && { isSubscribed: false }),
        ...(next.do === 'move' && { newFeedUrl: next.url }),
        ...(next.do === 'rename' && { newGuid: next.guid }),
      };
      await context.service.update({ userId, guid: one.guid, ...patch }, call());
    }
  }

  /** Returns the subscriptions of each device after a poll, and of the server. */
  async ends(): Promise<{ server: string[]; devices: string[][] }> {
    const { add: server } = await context.feeds.list({ userId: this.userId }, call());
    const found: string[][] = [];
    for (const one of this.devices) {
      await this.poll(one, false);
      const { feeds } = await context.feeds.find({ userId: this.userId, feedUrls: [...one.feeds] });
      found.push(
        [
          ...new Set(feeds.map((feed, n) => feed?.feedUrl ?? `nothing: ${[...one.feeds][n]}`)),
        ].toSorted(),
      );
    }
    return { server: server.toSorted(), devices: found };
  }

  private async poll(one: Device, lost: boolean): Promise<void> {
    const { credentialId, sessionId, since } = one;
    const reader = { credentialId, sessionId, since };
    const { timestamp, add, remove } = await context.feeds.list(
      { userId: this.userId, reader },
      call(),
    );
    one.missed = lost;
    if (lost) return;
    for (const gone of remove) one.feeds.delete(gone);
    for (const feed of add) one.feeds.add(feed);
    one.since = timestamp;
  }

  private async add(one: Device, feed: string): Promise<void> {
    if (one.missed) await this.poll(one, false);
    one.feeds.add(feed);
    await this.upload(one, { add: [feed], remove: [] });
  }

  private async remove(one: Device, which: number): Promise<void> {
    if (one.missed) await this.poll(one, false);
    const gone = [...one.feeds][which % Math.max(1, one.feeds.size)];
    if (gone === undefined) return;
    one.feeds.delete(gone);
    await this.upload(one, { add: [], remove: [gone] });
  }

  private async upload(one: Device, asked: { add: string[]; remove: string[] }): Promise<void> {
    const { credentialId, sessionId } = one;
    const request = { userId: this.userId, credentialId, sessionId, ...asked, whole: false };
    const { timestamp } = await context.feeds.change(request, call());
    one.since = timestamp;
  }

  private async one(which: number): Promise<{ id: string; guid: string } | undefined> {
    const { rows } = await context.owner.query<{ id: string; guid: string }>(
      `SELECT id, guid FROM subscription.subscriptions
       WHERE user_id = $1 AND deleted IS NULL AND merged_into IS NULL ORDER BY id`,
      [this.userId],
    );
    return rows[which % Math.max(1, rows.length)];
  }
}

/** Faults that random steps found. */
const found: Record<string, Step[]> = {
  'a feed that is deleted after a device has polled': [
    { do: 'post', url: urls[0] as string, guid: undefined },
    { do: 'poll', device: 0, lost: false },
    { do: 'delete', which: 0 },
  ],
  'a feed that a device has by two URLs, and removes by one': [
    { do: 'add', device: 0, url: urls[0] as string },
    { do: 'rename', which: 0, guid: guids[1] as string },
    { do: 'post', url: urls[2] as string, guid: guids[1] },
    { do: 'poll', device: 0, lost: false },
    { do: 'remove', device: 0, which: 0 },
  ],
};
it.each(Object.entries(found))('%s', async (_name, steps) => {
  const walk = new Walk();
  for (const next of steps) await walk.take(next);
  const { server, devices: all } = await walk.ends();
  for (const one of all) expect(one).toEqual(server);
});

it('devices that apply the changes since their timestamp end with all subscriptions', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 30, size: 'max' }),
      async (steps) => {
        const walk = new Walk();
        for (const next of steps) await walk.take(next);
        const { server, devices: all } = await walk.ends();
        for (const one of all) expect(one).toEqual(server);
      },
    ),
    { numRuns: full ? 1_000 : 40 },
  );
}, 600_000);
