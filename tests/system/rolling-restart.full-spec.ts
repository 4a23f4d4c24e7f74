import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import autocannon from 'autocannon';
import { type App, type AppProcess, AppStack } from '#testing';
import { Balancer } from './testing/balancer.js';

let stack: AppStack;
beforeAll(async () => {
  stack = await AppStack.open({ environment: { OPS_PORT: '0', DRAIN_SECONDS: '2' } });
});
afterAll(() => stack.close());

/** Apps to replace per round. As in a release, all together, each replica after another. */
const all: App[] = ['gateway', 'subscription', 'episode', 'deletion-worker'];
const rounds: App[][] = [all, all];

describe('a rolling restart', () => {
  const order = rounds.map((round) => round.join(', ')).join(', then ');
  it(`of ${order}, under load, fails no request`, async () => {
    const old = await stack.start([...all, ...all]);
    const balancer = new Balancer();
    const url = await balancer.open();
    await balancer.add(...old.filter(({ app }) => app === 'gateway'));
    const load = startLoad({ url, ...(await requests(old[0]!)) });
    const replace = async (process: AppProcess) => {
      // Like a Deployment with `maxUnavailable: 0`: the new replica is ready before the old one
      // stops.
      const [next] = await stack.start([process.app]);
      if (process.app === 'gateway') await balancer.add(next!);
      await process.stop();
      balancer.remove(process);
    };
    const left: AppProcess[] = [];
    try {
      for (const round of rounds) {
        const leaving = round.map((app) =>
          old.find((process) => process.app === app && !left.includes(process))!,
        );
        await Promise.all(leaving.map(replace));
        left.push(...leaving);
      }
    } finally {
      load.stop();
    }
    const {
      errors,
      timeouts,
      non2xx,
      latency,
      duration,
      requests: sent,
      statusCodeStats,
    } = await load.result;
    balancer.close();
    console.info(
      `${sent.total} requests in ${duration} s, the slowest took ${latency.max} ms`,
      statusCodeStats,
    );
    expect({ errors, timeouts, non2xx }).toEqual({ errors: 0, timeouts: 0, non2xx: 0 });
    // Deletions are the last of five kinds of request that alternate.
    expect(statusCodeStats?.['202']?.count).toBeGreaterThan(10);
    for (const { output } of left) expect(output).not.toMatch(/"level":"(error|fatal)"/);
  }, 120_000);
});

/** Puts load on the system until it is stopped. */
function startLoad(options: autocannon.Options): {
  stop(): void;
  result: Promise<autocannon.Result>;
} {
  let load: autocannon.Instance | undefined;
  const result = new Promise<autocannon.Result>((resolve, reject) => {
    load = autocannon(options, (error, measured) =>
      error ? reject(error as Error) : resolve(measured),
    );
  });
  return { stop: () => load?.stop(), result };
}

/** Requests for every app: adds a subscription and an episode, reads, deletes the subscription. */
async function requests(gateway: AppProcess): Promise<Omit<autocannon.Options, 'url'>> {
  const { token } = await stack.device(gateway);
  const json = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const { 'content-type': _, ...headers } = json;
  let count = 0;
  return {
    connections: 4,
    overallRate: 60,
    // Until it is stopped.
    duration: 600,
    requests: [
      {
        method: 'POST',
        path: '/subscriptions',
        headers: json,
        setupRequest: (request) => ({
          ...request,
          body: JSON.stringify({
            subscriptions: [{ feed_url: `https://podcast.example/${count++}` }],
          }),
        }),
        onResponse: (_status, body, context) => {
          const { success } = JSON.parse(body) as { success?: { guid: string }[] };
          Object.assign(context, { guid: success?.[0]?.guid });
        },
      },
      {
        method: 'POST',
        path: '/episodes',
        headers: json,
        setupRequest: (request, context) => ({
          ...request,
          body: JSON.stringify({
            episodes: [
              { podcast_guid: (context as { guid: string }).guid, episode_guid: 'e', title: 't' },
            ],
          }),
        }),
      },
      { method: 'GET', path: '/episodes', headers },
      { method: 'GET', path: '/subscriptions?per_page=10', headers },
      {
        method: 'DELETE',
        headers,
        setupRequest: (request, context) => ({
          ...request,
          path: `/subscriptions/${(context as { guid: string }).guid}`,
        }),
      },
    ],
  };
}
