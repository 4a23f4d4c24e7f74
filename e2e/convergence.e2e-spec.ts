import fc from 'fast-check';
import { assert, expect, test } from 'vitest';
import { errorBody } from './http.js';
import type { Subscription } from './interface.js';
import { feed, newGuid, numbers } from './samples.js';
import { User } from './user.js';

const full = Boolean(process.env.TEST_FULL);

type Shown = Omit<Subscription, 'guid' | 'new_guid' | 'guid_changed'>;

/** A client's copy of a user's subscriptions, by current guid. */
class Copy {
  readonly subscriptions = new Map<string, Shown>();
  private since: string | undefined;

  constructor(private readonly ann: User) {}

  async poll(): Promise<void> {
    const page = await this.ann.subscriptions({
      per_page: 1_000,
      ...(this.since !== undefined && { since: this.since }),
    });
    for (const { guid, new_guid, guid_changed: _changed, ...shown } of page.subscriptions) {
      if (new_guid !== undefined) this.subscriptions.delete(guid);
      this.subscriptions.set(new_guid ?? guid, shown);
    }
    this.since = page.sync;
  }
}

const guids = numbers(4).map(() => newGuid());
const guid = fc.constantFrom(...guids);
const url = fc.constantFrom(...numbers(4).map(feed));
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });

const step = fc.oneof(
  fc.record({
    kind: fc.constant('post' as const),
    entries: fc.array(fc.record({ feed_url: url, guid: maybe(guid) }), { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant('patch' as const),
    guid,
    patch: fc.record({
      new_feed_url: maybe(url),
      new_guid: maybe(guid),
      is_subscribed: maybe(fc.boolean()),
    }),
  }),
  fc.record({ kind: fc.constant('delete' as const), guid }),
  fc.record({ kind: fc.constant('poll' as const) }),
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Moves a former guid of a deleted subscription to a live one, as its current guid. */
const passedOn: Step[] = [
  { kind: 'post', entries: [{ feed_url: feed(1), guid: undefined }] },
  { kind: 'post', entries: [{ feed_url: feed(2), guid: guids[0] }] },
  {
    kind: 'patch',
    guid: guids[0]!,
    patch: { new_feed_url: undefined, new_guid: guids[1], is_subscribed: undefined },
  },
  { kind: 'delete', guid: guids[1]! },
  {
    kind: 'post',
    entries: [guids[2], guids[0]].map((name) => ({ feed_url: feed(1), guid: name })),
  },
  {
    kind: 'patch',
    guid: guids[2]!,
    patch: { new_feed_url: undefined, new_guid: guids[0], is_subscribed: undefined },
  },
];

/** Runs one step. Without a match or a change it is rejected. */
async function run(ann: User, copy: Copy, doing: Step): Promise<void> {
  if (doing.kind === 'poll') return copy.poll();
  if (doing.kind === 'post') {
    assert.equal((await ann.post('/subscriptions', { subscriptions: doing.entries })).status, 200);
    return;
  }
  if (doing.kind === 'patch') {
    assert.include(
      [200, 404, 405],
      (await ann.patch(`/subscriptions/${doing.guid}`, doing.patch)).status,
    );
    return;
  }
  const { status, body } = await ann.delete<{ deletion_id?: number }>(
    `/subscriptions/${doing.guid}`,
  );
  assert.include([202, 404], status);
  if (body.deletion_id !== undefined) await ann.ended(body.deletion_id);
}

test('a polling client converges to the full list after any writes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const ann = await User.fresh();
      const follower = new Copy(ann);
      for (const doing of steps) await run(ann, follower, doing);
      await follower.poll();
      const reader = new Copy(ann);
      await reader.poll();
      expect(Object.fromEntries(follower.subscriptions)).toEqual(
        Object.fromEntries(reader.subscriptions),
      );
      // No two live subscriptions share a URL, and each is found by its guid.
      const present = [...reader.subscriptions.values()].filter(
        ({ deleted }) => deleted === undefined,
      );
      const urls = present.map(({ feed_url }) => feed_url);
      expect(new Set(urls).size).toBe(urls.length);
      for (const [name, { deleted, ...shown }] of reader.subscriptions) {
        const { status, body } = await ann.get(`/subscriptions/${name}`);
        const live = { status: 200, body: { guid: name, ...shown } };
        expect({ status, body }).toEqual(
          deleted === undefined ? live : { status: 410, body: errorBody(410) },
        );
      }
    }),
    { numRuns: full ? 500 : 25, examples: [[passedOn]] },
  );
}, 300_000);
