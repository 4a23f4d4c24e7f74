import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type AppProcess, freshUser, SharedStack } from '#testing';
import { ChangeReader } from '../../apps/gateway/testing/change.reader.js';
import { GpodderClient } from '../clients/testing/gpodder.client.js';
import { fileOf, LoadProgram, partOf } from './testing/load.program.js';
import { episode, SimulatedUser } from './testing/simulated.user.js';

let stack: SharedStack;
let gateway: AppProcess;
let gpodder: AppProcess;
let loader: LoadProgram;
let user: SimulatedUser;
let stream: ChangeReader;
let otherStream: ChangeReader;

beforeAll(async () => {
  stack = await SharedStack.open();
  [gateway, gpodder] = (await stack.start(['gateway', 'gpodder'], {
    AUTH_APP_PASSWORDS: 'on',
  })) as [AppProcess, AppProcess];
  loader = new LoadProgram(stack.redis.url);
  otherStream = await ChangeReader.of(await stack.device(gateway), gateway);
});
afterAll(async () => {
  otherStream.leave();
  loader.close();
  await stack.close();
});
beforeEach(async () => {
  user = new SimulatedUser(await stack.device(gateway));
  stream = await ChangeReader.of(user.device, gateway);
});
afterEach(() => stream.leave());

const clock = async () =>
  (await user.device.send('GET', '/episodes')).headers.get('sync-timestamp') as string;

/** Runs a change, and waits until the stream reports a later clock. */
async function expectNotification(act: () => Promise<unknown>): Promise<void> {
  const before = stream.last;
  await act();
  const now = await clock();
  expect(now > before).toBe(true);
  await stream.received(now);
}

const send = (method: string, path: string, body?: object) =>
  user.device.send(method, path, { body });
const feed = () => `https://feeds.example/${randomUUID()}`;

it('sends the epoch before the first write', () => {
  expect(stream.stamps).toEqual(['1970-01-01T00:00:00.000Z']);
});

it('reports subscriptions, uploads and updates', async () => {
  let guid = '';
  await expectNotification(async () => (guid = await user.subscribe()));
  await expectNotification(() => send('POST', '/episodes', { episodes: [episode(guid, 'one')] }));
  await expectNotification(() => send('PATCH', `/subscriptions/${guid}`, { is_subscribed: false }));
});

it('reports merges of subscriptions', async () => {
  const [from, into] = [await user.subscribeWithEpisodes(feed()), await user.subscribe(feed())];
  await expectNotification(() => send('PATCH', `/subscriptions/${from}`, { new_guid: into }));
});

it('reports a request for a deletion, and the deletion', async () => {
  const guid = await user.subscribeWithEpisodes();
  const before = stream.stamps.length;
  await expectNotification(async () => user.ends(await user.delete(guid), 'SUCCESS'));
  // Two commits, whose notifications can be merged.
  expect(stream.stamps.length - before).toBeLessThanOrEqual(2);
  expect(stream.last).toBe(await clock());
});

it('reports loaded data', async () => {
  const subject = freshUser();
  user = new SimulatedUser(await stack.device(gateway, subject));
  stream.leave();
  stream = await ChangeReader.of(user.device, gateway);
  const guid = randomUUID();
  const subscription = { feed_url: feed(), guid, timestamp: '2025-01-01T00:00:00.000Z' };
  const load = async (...part: Parameters<typeof partOf>) =>
    expect(await loader.load(fileOf(...partOf(...part)))).toMatchObject({ code: 0, refused: [] });
  await expectNotification(() =>
    load(subject, [subscription], [{ ...episode(guid, 'one'), sync_id: randomUUID() }]),
  );
});

it('reports writes of gpodder clients, and no reads', async () => {
  const account = await stack.appPassword();
  const url = `http://127.0.0.1:${String(gateway.facts['port'])}/changes`;
  stream.leave();
  stream = await ChangeReader.open(url, { authorization: `Bearer ${account.password}` });
  await stream.receives(1);
  const client = new GpodderClient(`http://127.0.0.1:${String(gpodder.facts['port'])}`, {
    ...account,
    id: '',
  });
  const podcast = feed();
  await client.change('phone', [podcast]);
  await stream.receives(2);
  const action = {
    podcast,
    episode: `${podcast}/1.mp3`,
    action: 'play',
    position: 5,
    timestamp: '2025-01-01T00:00:00',
  };
  await client.send('POST', `/api/2/episodes/${account.name}.json`, [
    { ...action, started: 0, total: 10 },
  ]);
  await stream.receives(3);
  await client.delta('phone');
  await client.send('GET', `/api/2/episodes/${account.name}.json`);
  await client.change('phone', [], [podcast]);
  await stream.receives(4);
  expect(stream.stamps).toHaveLength(4);
});

it('reports no reads, no rejected and no repeated writes', async () => {
  const body = { subscriptions: [{ feed_url: feed() }] };
  const again = () => user.device.send('POST', '/subscriptions', { body, key: 'one' });
  await expectNotification(again);
  const before = stream.stamps.length;
  await again();
  await send('GET', '/subscriptions');
  await send('PATCH', `/subscriptions/${randomUUID()}`, { is_subscribed: true });
  await send('DELETE', `/subscriptions/${randomUUID()}`);
  // A notification of the earlier changes would arrive before this one.
  await expectNotification(() => user.subscribe());
  expect(stream.stamps).toHaveLength(before + 1);
});

it('sends each stamp once, in order, to its user only', async () => {
  for (let n = 0; n < 20; n += 1) await user.subscribe();
  await stream.received(await clock());
  expect(stream.stamps).toEqual([...new Set(stream.stamps)].sort());
  expect([stream.unexpected, otherStream.unexpected]).toEqual([[], []]);
  expect(otherStream.stamps).toHaveLength(1);
});
