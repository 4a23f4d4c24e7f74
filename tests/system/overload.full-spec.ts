import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, type Device, type DeviceAnswer, eventually } from '#testing';
import { deadlineMs, expectRefused } from './testing/fault-stack.js';
import { storedEpisodes } from '../../libs/database/testing/stored-episodes.js';

let stack: AppStack;
let database: pg.Pool;
let processes: AppProcess[] = [];

beforeAll(async () => {
  stack = await AppStack.open();
  database = new pg.Pool({ connectionString: stack.postgres.url });
});

afterEach(() => Promise.all(processes.map((process) => process.kill())));

afterAll(async () => {
  await database.end();
  await stack.close();
});

const subscribe = (device: Device, url: string) =>
  device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', {
    body: { subscriptions: [{ feed_url: url }] },
  });

const urls = (count: number) => Array.from({ length: count }, (_, n) => `https://example.org/${n}`);

/** Expects 200, or 503 with Retry-After, by the deadline. @returns the answers with 200. */
function expectServedOrRefused(answers: readonly DeviceAnswer<object>[]): DeviceAnswer<object>[] {
  const served = answers.filter(({ status }) => status === 200);
  for (const answer of answers)
    if (answer.status !== 200) expectRefused(answer as DeviceAnswer, deadlineMs);
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(deadlineMs);
  return served;
}

/** A subscription with this many episodes; answers its guid. */
async function big(device: Device, episodes: number): Promise<string> {
  const { body } = await subscribe(device, 'https://example.org/big');
  await database.query(
    storedEpisodes(
      `INSERT INTO episode.episodes (user_id, subscription_id, publish_date, sync_id, episode_guid,
         title, enclosure_url, episode_url)
       SELECT s.user_id, s.id, '2026-01-01', gen_random_uuid(), 'e' || n, 't' || n,
         'https://example.org/' || n, 'https://example.org/' || n
       FROM subscription.subscriptions s, generate_series(1, $2) n WHERE s.user_id = $1`,
      "'2026-01-01'",
    ),
    [device.user, episodes],
  );
  return body.success[0]!.guid;
}

/** Others, who read and write one after another. */
class Others {
  private readonly answers: DeviceAnswer<object>[] = [];
  private readonly loops: Promise<void>[];
  private stopped = false;

  constructor(devices: readonly Device[]) {
    this.loops = devices.map((device) => this.run(device));
  }

  /** Waits until each user has had 40 answers at least, stops them, and returns their statuses. */
  async stop(): Promise<DeviceAnswer<object>[]> {
    this.stopped = true;
    await Promise.all(this.loops);
    return this.answers;
  }

  private async run(device: Device): Promise<void> {
    for (let n = 0; !this.stopped || n < 40; n += 1) {
      const url = `https://example.org/${n % 10}`;
      this.answers.push(await (n % 2 ? device.send('GET', '/episodes') : subscribe(device, url)));
    }
  }
}

function p99(answers: readonly DeviceAnswer<object>[]): number {
  const sorted = answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0);
}

describe('a user with the maximum of writes', { timeout: 120_000 }, () => {
  const [writes, episodes] = [200, 100_000];

  it(`${writes} concurrent writes in a cascade cause no error of other users`, async () => {
    const apps = ['subscription', 'episode', 'deletion-worker'] as const;
    processes = await stack.start(['gateway', ...apps, ...apps]);
    const [gateway] = processes;
    const busy = await stack.device(gateway!);
    const guid = await big(busy, episodes);
    const devices = await Promise.all(Array.from({ length: 4 }, () => stack.device(gateway!)));
    const idle = await new Others(devices).stop();
    const busyTime = new Others(devices);
    const deletion = await busy.send<{ deletion_id: number }>('DELETE', `/subscriptions/${guid}`);
    const answers = await Promise.all(urls(writes).map((url) => subscribe(busy, url)));
    const path = `/deletions/${deletion.body.deletion_id}`;
    await eventually(
      async () => expect((await busy.send('GET', path)).body['status']).toBe('SUCCESS'),
      {
        timeout: 60_000,
      },
    );
    const meanwhile = await busyTime.stop();

    const served = expectServedOrRefused(answers);
    console.log(
      `${served.length} of ${writes} writes were served, the others refused; ` +
        `p99 of other users: ${p99(idle)} ms when idle, ${p99(meanwhile)} ms meanwhile`,
    );
    expect(meanwhile.filter(({ status }) => status !== 200)).toEqual([]);
    expect(served.length).toBeGreaterThanOrEqual(1);
    // Every write that was answered has taken effect as a whole.
    const { rows } = await database.query<{ feed_url: string; known: boolean }>(
      `SELECT s.feed_url,
         EXISTS (
           SELECT FROM subscription.feed_urls f
           WHERE f.user_id = s.user_id AND f.subscription_id = s.id
         )
         AND EXISTS (
           SELECT FROM subscription.guids g
           WHERE g.user_id = s.user_id AND g.subscription_id = s.id
         ) AS known
       FROM subscription.subscriptions s WHERE s.user_id = $1 AND s.deleted IS NULL`,
      [busy.user],
    );
    const there = new Set(rows.map((row) => row.feed_url));
    expect(urls(writes).filter((url, n) => answers[n]!.status === 200 && !there.has(url))).toEqual(
      [],
    );
    expect(rows.filter(({ known }) => !known)).toEqual([]);
  });
});
