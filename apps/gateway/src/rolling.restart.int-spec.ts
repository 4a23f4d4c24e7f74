import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import autocannon from 'autocannon';
import { type App, type AppProcess, AppStack, eventually } from '#testing';
import { Balancer } from '../testing/balancer.js';

let stack: AppStack;
beforeAll(async () => {
  stack = await AppStack.open({ environment: { OPS_PORT: '0', DRAIN_SECONDS: '2' } });
});
afterAll(() => stack.close());

const portOf = ({ facts }: AppProcess) => facts['port'] as number;

/** What a raw connection has received, and a way to send on it. */
function rawConnection(port: number) {
  const socket = connect(port, '127.0.0.1');
  const connection = {
    received: '',
    isOver: false,
    send: (text: string) => void socket.write(text.replaceAll('\n', '\r\n')),
    answers: () => connection.received.split(/(?=HTTP\/1\.1 )/),
  };
  socket.on('data', (chunk: Buffer) => (connection.received += chunk.toString()));
  socket.on('close', () => (connection.isOver = true));
  socket.on('error', () => undefined);
  return connection;
}

/** Whether a port takes connections. */
function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

describe('a stopping gateway', () => {
  it('turns unready, serves on, and then answers what it has begun with Connection: close', async () => {
    const [gateway] = (await stack.start(['gateway', 'subscription'])) as [AppProcess, AppProcess];
    const port = portOf(gateway);
    const { token } = await stack.device(gateway);
    const head = `Host: x\nAuthorization: Bearer ${token}\n`;
    const connection = rawConnection(port);
    const answers = async (count: number) =>
      eventually(() => expect(connection.answers().filter((text) => text.includes('\r\n\r\n'))).toHaveLength(count));

    const began = performance.now();
    const stopped = gateway.stop();
    const readyz = `http://127.0.0.1:${String(gateway.facts['opsPort'])}/readyz`;
    await eventually(async () => expect((await fetch(readyz)).status).toBe(503));
    connection.send(`GET /subscriptions HTTP/1.1\n${head}\n`);
    await answers(1);
    expect(connection.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(connection.received).not.toMatch(/connection: close/i);

    const body = '{"subscriptions": []}';
    const length = `Content-Type: application/json\nContent-Length: ${body.length}\n`;
    connection.send(`POST /subscriptions HTTP/1.1\n${head}${length}\n${body.slice(0, 5)}`);
    await eventually(async () => expect(await listens(port)).toBe(false));
    connection.send(`${body.slice(5)}`);
    await answers(2);
    expect(connection.answers()[1]).toMatch(/^HTTP\/1\.1 200 /);
    expect(connection.answers()[1]).toMatch(/connection: close/i);
    await eventually(() => expect(connection.isOver).toBe(true));
    await stopped;
    const tookMs = performance.now() - began;
    console.info(`stopped within ${Math.round(tookMs)} ms, 2,000 of them its drain`);
    // Far below the minute for which an idle connection is kept.
    expect(tookMs).toBeLessThan(40_000);
    expect(gateway.output).not.toMatch(/"level":"(error|fatal)"/);
  });
});

/** What is replaced, round by round: as a release does it, all apps at once and each one replica after another. */
const all: App[] = ['gateway', 'subscription', 'episode', 'deletion-worker'];
const rounds: App[][] = process.env.TEST_FULL ? [all, all] : [['gateway', 'subscription']];

describe('a rolling restart', () => {
  it(`of ${rounds.map((round) => round.join(', ')).join(', then ')}, under load, fails no request`, async () => {
    const old = await stack.start(process.env.TEST_FULL ? [...all, ...all] : [...all, ...rounds[0]!]);
    const balancer = new Balancer();
    const url = await balancer.open();
    await balancer.add(...old.filter(({ app }) => app === 'gateway'));
    const load = startLoad({ url, ...(await requests(old[0]!)) });
    const replace = async (process: AppProcess) => {
      // As a Deployment does with `maxUnavailable: 0`: the new one is ready before the old one is asked to leave.
      const [next] = await stack.start([process.app]);
      if (process.app === 'gateway') await balancer.add(next!);
      await process.stop();
      balancer.remove(process);
    };
    const left: AppProcess[] = [];
    try {
      for (const round of rounds) {
        const leaving = round.map((app) => old.find((process) => process.app === app && !left.includes(process))!);
        await Promise.all(leaving.map(replace));
        left.push(...leaving);
      }
    } finally {
      load.stop();
    }
    const { errors, timeouts, non2xx, latency, duration, requests: sent, statusCodeStats } = await load.result;
    balancer.close();
    console.info(`${sent.total} requests in ${duration} s, the slowest took ${latency.max} ms`, statusCodeStats);
    expect({ errors, timeouts, non2xx }).toEqual({ errors: 0, timeouts: 0, non2xx: 0 });
    // Of five kinds of request in turn, the deletions are the last.
    expect(statusCodeStats?.['202']?.count).toBeGreaterThan(10);
    for (const { output } of left) expect(output).not.toMatch(/"level":"(error|fatal)"/);
  }, 120_000);
});

/** Load until it is stopped. */
function startLoad(options: autocannon.Options): { stop(): void; result: Promise<autocannon.Result> } {
  let load: autocannon.Instance | undefined;
  const result = new Promise<autocannon.Result>((resolve, reject) => {
    load = autocannon(options, (error, measured) => (error ? reject(error as Error) : resolve(measured)));
  });
  return { stop: () => load?.stop(), result };
}

/** Every part has work: each connection adds a subscription and an episode, reads, and deletes the subscription again. */
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
          body: JSON.stringify({ subscriptions: [{ feed_url: `https://podcast.example/${count++}` }] }),
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
            episodes: [{ podcast_guid: (context as { guid: string }).guid, episode_guid: 'e', title: 't' }],
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
