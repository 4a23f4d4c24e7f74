import { describe, expect, test } from 'vitest';
import type { EpisodePage, SubscriptionPage } from './interface.js';
import { episode, feed, newGuid, numbers } from './samples.js';
import { User } from './user.js';

const full = Boolean(process.env.TEST_FULL);

const writers = 8;
const writesEach = full ? 60 : 8;

/** Follows a list with Sync-Timestamp and links, from where a client left off, and hands over every row it sees. */
class Poller<Row> {
  private since = '';

  constructor(
    private readonly ann: User,
    private readonly path: '/subscriptions' | '/episodes',
    private readonly see: (row: Row) => void,
  ) {}

  async poll(): Promise<void> {
    let link: string | undefined = `${this.path}?per_page=3${this.since && `&since=${this.since}`}`;
    let sync: string | null = null;
    while (link !== undefined) {
      const answer: { body: Partial<SubscriptionPage & EpisodePage>; headers: Headers } = await this.ann.get(link);
      for (const row of (answer.body.subscriptions ?? answer.body.episodes ?? []) as Row[]) this.see(row);
      sync ??= answer.headers.get('sync-timestamp');
      link = answer.body.next;
    }
    this.since = sync ?? '';
  }
}

/** Runs writers, each with its writes one after the other, while a poller polls; then lets it poll a last time. */
async function follow<Row>(poller: Poller<Row>, write: (writer: number, n: number) => Promise<unknown>): Promise<void> {
  const state = { writing: true };
  const written = Promise.all(
    numbers(writers).map(async (writer) => {
      for (const n of numbers(writesEach)) await write(writer, n);
    }),
  ).finally(() => {
    state.writing = false;
  });
  while (state.writing) await poller.poll();
  await written;
  await poller.poll();
}

describe(`a poller that follows Sync-Timestamp under ${writers} concurrent writers misses nothing`, () => {
  test('of subscriptions', async () => {
    const ann = await User.fresh();
    const seen = new Map<string, string | undefined>();
    const poller = new Poller<SubscriptionPage['subscriptions'][number]>(ann, '/subscriptions', (row) =>
      seen.set(row.feed_url, row.subscription_changed),
    );
    const expected = new Map<string, string | undefined>();
    await follow(poller, async (writer, n) => {
      // Every other write changes an older row.
      const url = feed(`${writer}-${n % 2 === 0 ? n - 1 : n}`);
      const [made] = await ann.subscribe(url);
      expected.set(url, made?.subscription_changed);
    });
    expect(seen).toEqual(expected);
  });

  test('of episodes', async () => {
    const ann = await User.fresh();
    const podcast = await ann.subscribed();
    const seen = new Map<string, number | undefined>();
    const poller = new Poller<EpisodePage['episodes'][number]>(ann, '/episodes', (row) =>
      seen.set(row.episode_guid, row.playback_position?.value),
    );
    const expected = new Map<string, number>();
    await follow(poller, async (writer, n) => {
      const sent = episode(podcast, 1, {
        episode_guid: `${writer}-${n % 3}`,
        enclosure_url: feed(`${writer}-${n % 3}`),
      });
      const timestamp = new Date(Date.UTC(2023, 1, 23, 14, n)).toISOString();
      await ann.uploaded({ ...sent, playback_position: { value: n, timestamp } });
      expected.set(sent.episode_guid as string, n);
    });
    expect(seen).toEqual(expected);
  });
});

describe('a walk through all pages loses no row', () => {
  const rows = full ? 250 : 60;

  test('by links, during writes, deletions and merges', async () => {
    const ann = await User.fresh();
    const made = await ann.subscribe(...numbers(rows).map((n) => ({ feed_url: feed(n), guid: newGuid() })));
    const guids = made.map((entry) => entry.guid);
    const disturb = [
      (n: number) => ann.subscribe(feed(`new ${n}`.replace(' ', '-'))),
      (n: number) => ann.update(guids[n] ?? '', { is_subscribed: false }),
      (n: number) => ann.deleted(guids[n] ?? ''),
      (n: number) => ann.update(guids[n] ?? '', { new_feed_url: feed(n + 2) }),
      (n: number) => ann.update(guids[n] ?? '', { new_guid: newGuid() }),
    ];
    const disturbed = (async () => {
      for (let n = 0; n < rows - 5; n += 5) await Promise.all(disturb.map((write, index) => write(n + index)));
    })();
    // The first guid that a subscription ever had stays what it is called in a list without since.
    const seen: string[] = [];
    for (let link: string | undefined = '/subscriptions?per_page=4'; link !== undefined;) {
      const { body }: { body: SubscriptionPage } = await ann.get<SubscriptionPage>(link);
      seen.push(...body.subscriptions.map((row) => row.guid));
      link = body.next;
    }
    await disturbed;
    expect(new Set(seen).size).toBe(seen.length);
    expect(guids.filter((guid) => !seen.includes(guid))).toEqual([]);
  });

  test('by numbers, during uploads', async () => {
    const ann = await User.fresh();
    const podcast = await ann.subscribed();
    const made = await ann.upload(...numbers(rows).map((n) => episode(podcast, n)));
    const uploads = (async () => {
      for (const n of numbers(rows / 4)) {
        const played_status = { value: true, timestamp: '2023-02-23T14:00' };
        await ann.upload(episode(podcast, n, { played_status }), episode(podcast, rows + n));
      }
    })();
    const seen = new Set<string>();
    for (let page = 1, total = 1; (page - 1) * 7 < total; page += 1) {
      const answer = await ann.episodes({ page, per_page: 7 });
      for (const row of answer.episodes) seen.add(row.sync_id);
      total = answer.total;
    }
    await uploads;
    expect(made.filter((row) => !seen.has(row.sync_id))).toEqual([]);
  });
});
