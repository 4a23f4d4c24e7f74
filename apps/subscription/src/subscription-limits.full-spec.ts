import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { subscribe as subscribeContract } from '#contracts';
import { freshUser } from '#testing';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { type Entry, sentBody } from '../testing/sent-entry.js';
import { openService, type ServiceContext } from '../testing/service-context.js';

const userId = freshUser();
let context: ServiceContext;
beforeAll(async () => {
  context = await openService();
});
afterAll(() => context.close());

const feed = (n: number | string) => `https://podcast.example/${n}`;

describe('a batch of 1,000 entries in 2 MB', () => {
  const long = (n: number | string, bytes: number) => feed(`${n}/`).padEnd(bytes, 'x');
  const batch = (entry: (n: number) => Entry) => Array.from({ length: 1_000 }, (_, n) => entry(n));
  const guids = batch(() => ({ feedUrl: '', guid: randomUUID() })).map(({ guid }) => guid);

  /** Returns the longest block of the event loop during a request, in milliseconds. */
  async function longestBlock(entries: Entry[]): Promise<number> {
    const text = JSON.stringify({ userId, body: sentBody(entries) });
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await new Promise(setImmediate);
    const request = subscribeContract.request.parse(JSON.parse(text));
    await context.service.subscribe(request, call());
    await new Promise(setImmediate);
    delay.disable();
    return delay.max / 1e6;
  }

  it('blocks the event loop for less than a second for any entries (target: 100 ms)', async () => {
    const cases: [string, Entry[]][] = [
      ['new, without guids', batch((n) => ({ feedUrl: long(n, 2_000) }))],
      ['the same again', batch((n) => ({ feedUrl: long(n, 2_000) }))],
      ['slashes and an x', batch((n) => ({ feedUrl: `${feed(n)}${'/'.repeat(1_950)}x` }))],
      ['slashes', batch((n) => ({ feedUrl: `${feed(n)}${'/'.repeat(1_950)}` }))],
      [
        '4,096 bytes each, with guids',
        batch((n) => ({ feedUrl: long(`a${n}`, 4_096), guid: guids[n] })),
      ],
      [
        'other guids for the same URLs',
        batch((n) => ({ feedUrl: long(n, 2_000), guid: randomUUID() })),
      ],
      [
        'guids of one and URLs of another',
        batch((n) => ({ feedUrl: long(n, 2_000), guid: guids[n] })),
      ],
      [
        'one feed 1,000 times, each with a guid',
        batch(() => ({ feedUrl: long('one', 2_000), guid: randomUUID() })),
      ],
      ['texts without a protocol', batch(() => ({ feedUrl: 'x'.repeat(2_000) }))],
      ['invalid hosts', batch(() => ({ feedUrl: `https://${'%'.repeat(2_000)}` }))],
      ['invalid guids', batch((n) => ({ feedUrl: feed(n), guid: '0'.repeat(1_900) }))],
    ];
    const measured = [];
    for (const [name, entries] of cases)
      measured.push({ name, 'longest ms': await longestBlock(entries) });
    console.table(measured);
    expect(Math.max(...measured.map((row) => row['longest ms']))).toBeLessThan(1_000);
  });
});
