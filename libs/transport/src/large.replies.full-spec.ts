import { expect, it } from 'vitest';
import { JsonText } from '#contracts';
import { probe, quote } from '../testing/probe.contracts.js';
import { useTransport } from '../testing/use.transport.js';
import { call, type StreamClient } from './index.js';

const { replica, client } = useTransport();
const mebibyte = 2 ** 20;

const json = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
const asked = (gateway: StreamClient, bytes: number) =>
  call(gateway, quote, { json: json(bytes), as: 'reply' }, { requestId: `${bytes} bytes`, budgetMs: 20_000 });
const small = (gateway: StreamClient, text: string) =>
  call(gateway, probe, { text }, { requestId: text, budgetMs: 20_000 });

it('several of the largest replies to one gateway that is busy all arrive, and no neighbour fails', async () => {
  await replica();
  const gateway = await client();
  // As gateway and replica share this thread, all of them wait in Redis for a moment.
  const large = Array.from({ length: 6 }, () => asked(gateway, 7 * mebibyte));
  const neighbours = Array.from({ length: 50 }, (_, n) => small(gateway, `neighbour ${n}`));
  for (const reply of await Promise.all(large)) expect((reply as JsonText).toString()).toHaveLength(7 * mebibyte);
  expect(await Promise.all(neighbours)).toHaveLength(50);
  expect(gateway.counters.reconnects).toBe(0);
});
