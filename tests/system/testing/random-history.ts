import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type Device, eventually } from '#testing';
import { guidOf } from './sync-model.js';

type Body = Record<string, unknown>;

/** A user's step, with numbers instead of the guids and URLs. */
type Step =
  | {
      op: 'subscribe';
      entries: { url: number; guid: number | undefined; at: number | undefined }[];
    }
  | {
      op: 'update';
      name: number;
      url: number | undefined;
      guid: number | undefined;
      isSubscribed: boolean | undefined;
    }
  | { op: 'delete'; name: number }
  | { op: 'upload'; name: number; episodes: Episode[] };
interface Episode {
  syncId: number | undefined;
  described: Body;
  statuses: Body;
}

/** Number of guids, URLs and sync_ids of a user: few, so that steps affect earlier ones. */
const [guids, urls, syncIds] = [4, 4, 6];
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });
const url = fc.nat(urls - 1);
/** The declared guids, then those derived from the URLs. */
const name = fc.nat(guids + urls - 1);

/** A time of 2025; some to the minute. */
const time = fc.oneof(
  fc.nat(59).map((minute) => `2025-03-04T05:${String(minute).padStart(2, '0')}`),
  fc
    .nat(3_599_999)
    .map((ms) => `2025-03-04T05:${new Date(ms).toISOString().slice(14, 23)}${ms % 1_000}Z`),
);
const status = (value: fc.Arbitrary<unknown>) => maybe(fc.record({ value, timestamp: time }));
const text = (what: string, most: number) =>
  maybe(fc.nat(most).map((n) => `${what} ${n} "\\\u00fc\u{1f3a7}`));
const link = (what: string) => maybe(fc.nat(3).map((n) => `https://media.example/${what}/${n}`));
const episode: fc.Arbitrary<Episode> = fc.record({
  syncId: maybe(fc.nat(syncIds - 1)),
  described: fc.record({
    episode_guid: text('guid', 4),
    title: text('Title', 2),
    publish_date: maybe(fc.nat(3).map((day) => `2024-01-0${day + 1}T00:00:00.${day}Z`)),
    enclosure_url: link('audio'),
    episode_url: link('page'),
    duration: maybe(fc.constantFrom(1, 90.5)),
  }),
  statuses: fc.record({
    playback_position: status(fc.constantFrom(0, 1.5, 3_600)),
    played_status: status(fc.boolean()),
    new_status: status(fc.boolean()),
    download_status: status(fc.boolean()),
    favorite_status: status(fc.boolean()),
  }),
});
const entry = fc.record({ url, guid: maybe(fc.nat(guids - 1)), at: maybe(fc.nat(59)) });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('subscribe'),
      entries: fc.array(entry, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('update'),
      name,
      url: maybe(url),
      guid: maybe(fc.nat(guids - 1)),
      isSubscribed: maybe(fc.boolean()),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('delete'), name }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('upload'),
      name,
      episodes: fc.array(episode, { minLength: 1, maxLength: 5 }),
    }),
  },
);

/** The steps of a user over time; the first adds a feed. */
export type History = readonly Step[];
const history: fc.Arbitrary<History> = fc
  .array(step, { minLength: 5, maxLength: 20 })
  .map((steps) => [
    { op: 'subscribe', entries: [{ url: 0, guid: undefined, at: undefined }] },
    ...steps,
  ]);

/** Returns random histories. */
export const histories = (count: number, seed: number): History[] =>
  fc.sample(history, { numRuns: count, seed });

/** A user with random guids and URLs, who can run the same history on several systems. */
export class RandomUser {
  private readonly urls: string[];
  /** Every guid that can identify a subscription of the user. */
  private readonly names: string[];
  private readonly syncIds = Array.from({ length: syncIds }, () => randomUUID());

  constructor(readonly id: string) {
    this.urls = Array.from({ length: urls }, (_, n) => `https://feeds.example/${id}/${n}`);
    this.names = [...Array.from({ length: guids }, () => randomUUID()), ...this.urls.map(guidOf)];
  }

  /** Runs all steps of a history, and waits until its deletions have ended. */
  async live(device: Device, steps: History): Promise<void> {
    for (const doing of steps) await this.take(device, doing);
  }

  private async take(device: Device, doing: Step): Promise<void> {
    switch (doing.op) {
      case 'subscribe': {
        const subscriptions = doing.entries.map((one) => ({
          feed_url: this.urls[one.url],
          guid: one.guid === undefined ? undefined : this.names[one.guid],
          timestamp:
            one.at === undefined
              ? undefined
              : `2025-03-04T05:${String(one.at).padStart(2, '0')}:00.000001Z`,
        }));
        await send(device, 'POST', '/subscriptions', { subscriptions });
        return;
      }
      case 'update': {
        const { name: guid, url: newUrl, guid: newGuid, isSubscribed } = doing;
        const patch = {
          new_feed_url: newUrl === undefined ? undefined : this.urls[newUrl],
          new_guid: newGuid === undefined ? undefined : this.names[newGuid],
          is_subscribed: isSubscribed,
        };
        await send(device, 'PATCH', `/subscriptions/${this.names[guid]}`, patch);
        return;
      }
      case 'delete': {
        const { deletion_id: id } = await send(
          device,
          'DELETE',
          `/subscriptions/${this.names[doing.name]}`,
        );
        if (id === undefined) return;
        await eventually(async () =>
          assert.notEqual(
            (await send(device, 'GET', `/deletions/${String(id)}`))['status'],
            'PENDING',
          ),
        );
        return;
      }
      case 'upload': {
        const episodes = doing.episodes.map(({ syncId, described, statuses }) => ({
          podcast_guid: this.names[doing.name],
          sync_id: syncId === undefined ? undefined : this.syncIds[syncId],
          ...described,
          ...statuses,
        }));
        await send(device, 'POST', '/episodes', { episodes });
      }
    }
  }

  /** All readable data without stamps: both lists, subscriptions by guid, episodes by sync_id. */
  async shown(device: Device): Promise<unknown> {
    const subscriptions = await listed(device, 'subscriptions');
    const named = await Promise.all(
      this.names.map((guid) => send(device, 'GET', `/subscriptions/${guid}`)),
    );
    // Entries without fields change nothing; the answer shows the matched episodes.
    const asked = this.names.flatMap((podcast_guid) =>
      this.syncIds.map((sync_id) => ({ podcast_guid, sync_id })),
    );
    const answer = await send(device, 'POST', '/episodes', { episodes: asked });
    return {
      subscriptions: subscriptions.map(withoutStamps),
      named: named.map(withoutStamps),
      episodes: await listed(device, 'episodes'),
      synced: answer,
    };
  }
}

/** Returns all items of a list; with `since` only the changed ones. */
export async function listed(
  device: Device,
  list: 'subscriptions' | 'episodes',
  since?: string,
): Promise<Body[]> {
  const query = since === undefined ? '' : `&since=${since}`;
  const items: Body[] = [];
  for (let page = 1; ; page += 1) {
    const body = await send(device, 'GET', `/${list}?per_page=250&page=${page}${query}`);
    items.push(...(body[list] as Body[]));
    if (body['next'] === undefined) return items;
  }
}

const stamps = ['subscription_changed', 'guid_changed', 'deleted'];

/** Returns an item with `true` instead of each stamp. */
function withoutStamps(item: Body): Body {
  return Object.fromEntries(
    Object.entries(item).map(([field, value]) => [field, stamps.includes(field) || value]),
  );
}

/** Repeats a request until its answer is not a server error. */
function send(device: Device, method: string, path: string, body?: unknown): Promise<Body> {
  const key = method === 'GET' ? {} : { key: randomUUID() };
  return eventually(async () => {
    const answer = await device.send(method, path, { body, ...key });
    assert(answer.status < 500, `${method} ${path} was answered with ${answer.status}`);
    return answer.body;
  });
}
