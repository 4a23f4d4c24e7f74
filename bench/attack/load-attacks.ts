import { randomUUID } from 'node:crypto';
import {
  type Attack,
  episode,
  largeEpisode,
  type Run,
  same,
  subscribed,
  uploaded,
} from './attack.js';
import type { Attacker } from './attacker.js';

/** Attacks by large numbers of ordinary requests of one user. */
export const loadAttacks: readonly Attack[] = [
  pages('1,000 x a large page', 1_000, 'GET', []),
  pages('60 x a large page with brotli', 60, 'GET', ['Accept-Encoding: br']),
  pages('60 x a large page with gzip', 60, 'GET', ['Accept-Encoding: gzip']),
  pages('200 x HEAD of a large page', 200, 'HEAD', ['Accept-Encoding: br']),
  same('an empty page', 5_000, { target: '/subscriptions' }, 256),
  same('an unknown subscription', 2_000, { target: `/subscriptions/${randomUUID()}` }, 2_000),
  same('an unknown deletion', 2_000, { target: '/deletions/1' }, 2_000),
  same('a DELETE of nothing', 1_000, {
    method: 'DELETE',
    target: `/subscriptions/${randomUUID()}`,
  }),
  {
    name: '100 x 500 new feeds',
    prepare: (attacker) => () =>
      attacker.flood(100, 100, (batch) =>
        attacker.bytes({
          method: 'POST',
          target: '/subscriptions',
          body: JSON.stringify({
            subscriptions: Array.from({ length: 500 }, (_, n) => ({
              feed_url: `https://a.example/${batch}/${n}`,
            })),
          }),
        }),
      ),
  },
  { name: '40 uploads of 250 large episodes, each with a key', prepare: uploads },
  { name: '500 deletions of subscriptions with an episode', prepare: deletions },
  { name: '10 merges of subscriptions with 1,000 episodes', prepare: merges },
  { name: '2 POSTs that merge 8 subscriptions with 1,000 episodes', prepare: mergesByPost },
  { name: '100 guids moved between two subscriptions, 4 concurrently', prepare: moves },
];

/** Requests many pages of 1,000 large episodes, some megabytes each without a limit. */
function pages(name: string, count: number, method: string, headers: readonly string[]): Attack {
  return {
    name,
    prepare: async (attacker) => {
      const [guid = ''] = await subscribed(attacker, 1);
      await uploaded(
        attacker,
        Array.from({ length: 1_000 }, (_, n) => largeEpisode(guid, n)),
      );
      const bytes = attacker.bytes({ method, target: '/episodes?per_page=1000', headers });
      return () => attacker.flood(count, count, () => bytes);
    },
  };
}

/** Uploads with large responses that the service stores for repetitions. */
async function uploads(attacker: Attacker): Promise<Run> {
  const [guid = ''] = await subscribed(attacker, 1);
  const requests = Array.from({ length: 40 }, (_, batch) => {
    const episodes = Array.from({ length: 250 }, (__, n) => largeEpisode(guid, batch * 250 + n));
    const headers = [`Idempotency-Key: ${batch}`];
    return attacker.bytes({
      method: 'POST',
      target: '/episodes',
      headers,
      body: JSON.stringify({ episodes }),
    });
  });
  return () => attacker.flood(requests.length, requests.length, (n) => requests[n] as Buffer);
}

async function deletions(attacker: Attacker): Promise<Run> {
  const guids = await subscribed(attacker, 500);
  const episodes = guids.map((guid) => episode(guid, 1));
  await uploaded(attacker, episodes);
  return () =>
    attacker.flood(500, 500, (n) =>
      attacker.bytes({ method: 'DELETE', target: `/subscriptions/${guids[n]}` }),
    );
}

async function merges(attacker: Attacker): Promise<Run> {
  const guids = await subscribed(attacker, 11);
  const episodes = guids.flatMap((guid) =>
    Array.from({ length: 1_000 }, (_, n) => episode(guid, n)),
  );
  await uploaded(attacker, episodes);
  const [survivor, ...others] = guids;
  return () =>
    attacker.flood(10, 10, (n) =>
      attacker.bytes({
        method: 'PATCH',
        target: `/subscriptions/${survivor}`,
        body: JSON.stringify({ new_guid: others[n] }),
      }),
    );
}

/** Declares one guid for the URLs of other podcasts without declared guids, which merges them. */
async function mergesByPost(attacker: Attacker): Promise<Run> {
  const guids = await subscribed(attacker, 16);
  await uploaded(
    attacker,
    guids.flatMap((guid) => Array.from({ length: 1_000 }, (_, n) => episode(guid, n))),
  );
  const survivor = randomUUID();
  const entries = guids.map((_, n) => ({ feed_url: `https://feeds.example/${n}`, guid: survivor }));
  const first = { feed_url: 'https://feeds.example/survivor', guid: survivor };
  return () =>
    attacker.flood(2, 2, (n) => {
      const subscriptions = [first, ...entries.slice(8 * n, 8 * n + 8)];
      return attacker.bytes({
        method: 'POST',
        target: '/subscriptions',
        body: JSON.stringify({ subscriptions }),
      });
    });
}

/** Changes guids repeatedly. Each change leaves an alias behind. */
async function moves(attacker: Attacker): Promise<Run> {
  const guids = await subscribed(attacker, 2);
  return () =>
    attacker.flood(100, 4, (n) =>
      attacker.bytes({
        method: 'PATCH',
        target: `/subscriptions/${guids[n % 2]}`,
        body: JSON.stringify({ new_guid: randomUUID() }),
      }),
    );
}
