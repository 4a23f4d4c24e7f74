import { setImmediate as nextTick } from 'node:timers/promises';
import { errorBody, httpAnswers } from '#http';
import { readOpml } from '#opml';
import { type AppProcess, AppStack, type Device, freshUser, SharedStack } from '#testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileGpodderRequests } from './testing/hostile-gpodder.js';
import {
  type HostileRequest,
  hostileRequests,
  type HostileContext,
} from './testing/hostile-requests.js';
import { exchange, type RawAnswer } from './testing/raw-http.js';
import { failureAnswers } from '../../apps/gateway/src/http/errors.js';

const full = Boolean(process.env.TEST_FULL);
const cases = full ? { main: 10_000, gpodder: 10_000 } : { main: 400, gpodder: 300 };
const seed = Number(process.env.FUZZ_SEED ?? Math.trunc(Math.random() * 0x7fff_ffff));
/** Cases that are generated at a time and sent concurrently. */
const [batch, sideBySide] = [100, 4];

const answers = [...Object.values(failureAnswers), ...Object.values(httpAnswers)];
const bodies = new Map(answers.map((answer) => [answer.status, JSON.stringify(errorBody(answer))]));

/** Turns on every check of headers. The heap is so small that a leak would end the process. */
const everythingOn = {
  OPS_PORT: '0',
  NODE_OPTIONS: '--max-old-space-size=96',
  CORS_ORIGINS: 'https://app.example',
  TRUSTED_PROXIES: '127.0.0.1',
  RATE_LIMIT_PER_USER: '100000000/60',
  RATE_LIMIT_PER_ADDRESS: '100000000/60',
};

let stack: AppStack | SharedStack;
let apps: Pick<AppProcess, 'facts'>[];
/** The apps with {@link everythingOn}, only with full counts. */
let processes: AppProcess[] = [];
let device: Device;
let context: HostileContext;
beforeAll(async () => {
  const names = [
    'gateway',
    'gpodder',
    'subscription',
    'episode',
    'deletion-worker',
    'account',
  ] as const;
  if (full) {
    stack = await AppStack.open();
    apps = processes = await stack.start(names, everythingOn);
  } else {
    const shared = await SharedStack.open();
    [stack, apps] = [shared, names.map((name) => shared.app(name))];
  }
  device = await stack.device(apps[0]!);
  const platform = await stack.device(apps[0]!, freshUser(), { scope: 'write:feeds' });
  context = { token: device.token, platform: platform.token, guid: await subscribed() };
}, 120_000);
afterAll(() => stack?.close());

async function subscribed(): Promise<string> {
  const { body } = await device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', {
    body: { subscriptions: [{ feed_url: 'https://feeds.example/known.xml' }] },
  });
  return body.success[0]?.guid ?? '';
}

/** Returns the fault of an answer, if any. Valid are a success, or a client error with its body. */
async function fault(
  request: HostileRequest,
  answer: RawAnswer | undefined,
): Promise<string | undefined> {
  if (!answer) return request.mayEndEarly ? undefined : 'no answer';
  const { status, headers, body } = answer;
  if (!(status >= 200 && status < 500)) return `status ${status}`;
  // The server cannot detect HEAD in an invalid request.
  if (request.head) return body === '' || status === 400 ? undefined : 'HEAD with a body';
  if (status === 204 || status === 304) return body === '' ? undefined : `${status} with a body`;
  if (status >= 400)
    return body === bodies.get(status) ? undefined : `the body of ${status} is ${body}`;
  const type = headers.get('content-type') ?? '';
  if (headers.has('content-encoding')) return undefined;
  if (type.startsWith('text/x-opml')) {
    await readOpml(Buffer.from(body), nextTick);
    return undefined;
  }
  if (!type.startsWith('application/json')) return `type ${type}`;
  try {
    JSON.parse(body);
    return undefined;
  } catch {
    return `no JSON: ${body}`;
  }
}

/** Returns the fault of an answer of the gpodder API, if any. Successes have many forms. */
function gpodderFault({ head }: HostileRequest, answer: RawAnswer | undefined): string | undefined {
  if (!answer) return 'no answer';
  const { status, body } = answer;
  if (!((status >= 200 && status < 300) || (status >= 400 && status < 500)))
    return `status ${status}`;
  if (head) return body === '' ? undefined : 'HEAD with a body';
  if (status < 400) return undefined;
  const { message } = JSON.parse(body) as { message: string };
  return body === JSON.stringify(errorBody({ status, message }))
    ? undefined
    : `the body of ${status} is ${body}`;
}

/** Sends a request. @returns the status, 0 for a closed connection, and the fault. */
async function outcome(
  request: HostileRequest,
  app = 0,
  judge: typeof fault | typeof gpodderFault = fault,
) {
  try {
    const answer = await exchange(Number(apps[app]?.facts['port']), request);
    return { status: answer?.status ?? 0, wrong: await judge(request, answer) };
  } catch (error) {
    return { status: 0, wrong: (error as Error).message };
  }
}

/** Sends random requests and expects that each is answered well and all processes live. */
async function expectMannerly(
  count: number,
  requests: fc.Arbitrary<HostileRequest>,
  send: (request: HostileRequest) => ReturnType<typeof outcome>,
  afterBatch: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  for (let done = 0; done < count; done += batch) {
    const queue = fc.sample(requests, { seed: seed + done, numRuns: batch }).values();
    const sendAll = async () => {
      for (const request of queue) {
        const { status, wrong } = await send(request);
        for (const what of [request.kind, status]) counts[what] = (counts[what] ?? 0) + 1;
        const sent = request.bytes.toString('latin1').slice(0, 2_000);
        if (wrong !== undefined) faults.push(`${request.kind}: ${wrong}: ${JSON.stringify(sent)}`);
      }
    };
    await Promise.all(Array.from({ length: sideBySide }, sendAll));
    await afterBatch();
  }
  console.log(
    `fuzz: seed ${seed}, ${count} cases: ${JSON.stringify(counts)} (0: closed without an answer)`,
  );
  expect(faults.slice(0, 10)).toEqual([]);
  expect(processes.filter(({ hasExited }) => hasExited)).toEqual([]);
}

/** Bytes on the heap of all processes together. */
async function heap(): Promise<number> {
  const sizes = apps.map(async ({ facts }) => {
    const metrics = await (
      await fetch(`http://127.0.0.1:${String(facts['opsPort'])}/metrics`)
    ).text();
    return Number(/^nodejs_heap_size_used_bytes (\S+)/m.exec(metrics)?.[1]);
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

describe(
  'hostile requests get success or the body of an error, never 5xx',
  { timeout: 600_000 },
  () => {
    it(`from the main API, and no process grows: ${cases.main} cases`, async () => {
      const heaps: number[] = [];
      await expectMannerly(
        cases.main,
        hostileRequests(context),
        (request) => outcome(request),
        async () => heaps.push(await heap()),
      );
      // The lowest of several samples is nearest to the heap after a garbage collection.
      const fifth = Math.max(Math.floor(heaps.length / 5), 1);
      const [before, after] = [
        Math.min(...heaps.slice(0, fifth * 2)),
        Math.min(...heaps.slice(-fifth * 2)),
      ];
      console.log(
        `heap ${Math.round(before / 2 ** 20)} MiB, then ${Math.round(after / 2 ** 20)} MiB`,
      );
      expect(full ? after : 0).toBeLessThan(before + 64 * 2 ** 20);
      expect((await device.send('GET', '/subscriptions')).status).toBe(200);
    });

    it(`from the gpodder API: ${cases.gpodder} cases`, async () => {
      const requests = hostileGpodderRequests(await stack.appPassword());
      await expectMannerly(cases.gpodder, requests, (request) => outcome(request, 1, gpodderFault));
    });
  },
);

/** Found by the cases above. */
describe('hostile requests that were not answered as they should be', () => {
  it.each([
    [
      'a preflight that names no origin',
      'OPTIONS /subscriptions',
      ['Access-Control-Request-Method: GET'],
      405,
    ],
    [
      'a preflight for no method',
      'OPTIONS /subscriptions',
      ['Origin: https://a.example', 'Access-Control-Request-Method:'],
      405,
    ],
  ])('%s', async (kind, line, headers, status) => {
    const lines = [
      `${line} HTTP/1.1`,
      'Host: a.example',
      'Connection: close',
      `Authorization: Bearer ${context.token}`,
    ];
    const bytes = Buffer.from([...lines, ...headers, '', ''].join('\r\n'));
    expect(await outcome({ kind, bytes, head: false, mayEndEarly: false })).toEqual({
      status,
      wrong: undefined,
    });
  });
});
