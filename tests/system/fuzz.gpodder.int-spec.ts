import { errorBody } from '#http';
import { type AppProcess, AppStack } from '#testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileGpodderRequests, type GpodderWorld } from './testing/hostile.gpodder.js';
import { exchange, type RawAnswer } from './testing/raw.http.js';

const cases = process.env.TEST_FULL ? 10_000 : 300;
const seed = Number(process.env.FUZZ_SEED ?? Math.trunc(Math.random() * 0x7fff_ffff));
/** Cases that are generated at a time and sent concurrently. */
const [batch, sideBySide] = [100, 4];

let stack: AppStack;
let apps: AppProcess[];
let world: GpodderWorld;
beforeAll(async () => {
  stack = await AppStack.open();
  const environment = { NODE_OPTIONS: '--max-old-space-size=96' };
  apps = await stack.start(['gpodder', 'subscription', 'episode', 'account'], environment);
  world = await stack.appPassword();
}, 120_000);
afterAll(() => stack?.close());

/** What is wrong with an answer, if anything: it is a success, or a client error with a body that says which. */
function fault(head: boolean, answer: RawAnswer | undefined): string | undefined {
  if (!answer) return 'no answer';
  const { status, body } = answer;
  if (!((status >= 200 && status < 300) || (status >= 400 && status < 500))) return `status ${status}`;
  if (head) return body === '' ? undefined : 'HEAD with a body';
  if (status < 400) return undefined;
  const { message } = JSON.parse(body) as { message: string };
  return body === JSON.stringify(errorBody({ status, message })) ? undefined : `the body of ${status} is ${body}`;
}

describe('hostile requests to the gpodder API', () => {
  it(`get success or the body of an error, never 5xx: ${cases} cases`, { timeout: 600_000 }, async () => {
    const statuses: Record<number, number> = {};
    const faults: string[] = [];
    const port = Number(apps[0]?.facts['port']);
    for (let done = 0; done < cases; done += batch) {
      const queue = fc.sample(hostileGpodderRequests(world), { seed: seed + done, numRuns: batch }).values();
      const sendAll = async () => {
        for (const request of queue) {
          const answer = await exchange(port, request).catch((error: Error) => error);
          const wrong = answer instanceof Error ? answer.message : fault(request.head, answer);
          if (!(answer instanceof Error) && answer) statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
          const sent = request.bytes.toString('latin1').slice(0, 2_000);
          if (wrong !== undefined) faults.push(`${request.kind}: ${wrong}: ${JSON.stringify(sent)}`);
        }
      };
      await Promise.all(Array.from({ length: sideBySide }, sendAll));
    }
    console.log(`fuzz of the gpodder API: seed ${seed}, ${cases} cases, statuses ${JSON.stringify(statuses)}`);
    expect(faults.slice(0, 10)).toEqual([]);
    expect(apps.filter(({ hasExited }) => hasExited)).toEqual([]);
  });
});
