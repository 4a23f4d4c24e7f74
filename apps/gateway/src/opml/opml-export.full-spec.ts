import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { opmlEnd } from '#opml';
import { type AppProcess, AppStack, type Device, eventually } from '#testing';
import { feed } from '../../testing/opml-client.js';

let stack: AppStack;
let service: AppProcess;
let gateway: AppProcess;
beforeAll(async () => {
  stack = await AppStack.open();
  [service, gateway] = (await stack.start(['subscription', 'gateway'], { OPS_PORT: '0' })) as [
    AppProcess,
    AppProcess,
  ];
});
afterAll(() => stack?.close());

/** Returns the answer to an export, of which nothing is read yet. */
function unread({ facts }: AppProcess, { token }: Device): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get(`http://127.0.0.1:${String(facts['port'])}/subscriptions.opml`, { headers }, resolve).once(
      'error',
      reject,
    );
  });
}

async function heldBytes(): Promise<number> {
  const metrics = await (
    await fetch(`http://127.0.0.1:${String(gateway.facts['opsPort'])}/metrics`)
  ).text();
  return Number(/^podcast_sync_held_bytes (\S+)/m.exec(metrics)?.[1]);
}

async function read(answer: IncomingMessage, onText: (text: string) => void): Promise<void> {
  for await (const chunk of answer.setEncoding('utf8')) onText(String(chunk));
}

it('an export waits for a slow client, and is cut off if a page is unavailable', async () => {
  const device = await stack.device(gateway);
  // More than the buffers of a connection hold.
  const long = Array.from({ length: 10_000 }, (_, n) => `${feed(n)}?${'x'.repeat(600)}`);
  for (let n = 0; n < long.length; n += 1_000) {
    const subscriptions = long.slice(n, n + 1_000).map((url) => ({ feed_url: url }));
    expect((await device.send('POST', '/subscriptions', { body: { subscriptions } })).status).toBe(
      200,
    );
  }
  const answer = await unread(gateway, device);
  expect(answer.statusCode).toBe(200);
  const held = await heldBytes();
  expect(held).toBeGreaterThan(500_000);
  expect(held).toBeLessThan(3_000_000);
  await service.kill();
  let text = '';
  await expect(read(answer, (more) => (text += more))).rejects.toThrow('aborted');
  expect(text).not.toContain(opmlEnd);
  await eventually(async () => expect(await heldBytes()).toBe(0));
}, 60_000);
