import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppStack, type AppProcess, eventually, freshUser } from '#testing';
import { fileOf, LoadProgram, partOf } from './testing/load-program.js';

const [users, episodes] = [200, 240];

let stack: AppStack;
let gateway: AppProcess;
let loader: LoadProgram;
/** Returns the lists of each user after a load without faults. */
let undisturbed: unknown[];

beforeAll(async () => {
  stack = await AppStack.open({ durablePostgres: true });
  [gateway] = (await stack.start(['gateway', 'subscription'])) as [AppProcess];
  loader = new LoadProgram(stack.redis.url);
  const [service] = await stack.start(['episode']);
  const names = newUsers();
  await loader.load(dataOf(names));
  undisturbed = await listsOf(names);
  await service?.stop();
});
afterAll(async () => {
  loader.close();
  await stack.close();
});

const newUsers = () => Array.from({ length: users }, freshUser);

/** Returns equal data for each user; two of ten lines repeat an episode. */
function dataOf(names: readonly string[]): string {
  const guid = '00000000-0000-4000-8000-00000000000a';
  const at = (n: number) => new Date(Date.UTC(2025, 0, 1, 0, n)).toISOString();
  const entries = Array.from({ length: episodes }, (_, n) => ({
    podcast_guid: guid,
    sync_id: `5c000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    episode_guid: `episode ${n % 10 === 9 ? n - 1 : n}`,
    title: `Title ${n}`,
    enclosure_url: `https://media.example/${n}.mp3`,
    playback_position: { value: n, timestamp: at(n) },
  }));
  const feeds = [{ feed_url: 'https://feeds.example/a', guid, timestamp: at(0) }];
  return fileOf(...names.flatMap((name) => partOf(name, feeds, entries)));
}

async function listsOf(names: readonly string[]): Promise<unknown[]> {
  const lists: unknown[] = [];
  for (const name of names) {
    const device = await stack.device(gateway, name);
    const { body } = await device.send('GET', '/episodes?per_page=250');
    const subscriptions = (await device.send('GET', '/subscriptions')).body.subscriptions as Record<
      string,
      unknown
    >[];
    const unstamped = subscriptions.map((row) => ({ ...row, subscription_changed: 'stamped' }));
    lists.push([body.total, body.episodes, unstamped]);
  }
  return lists;
}

/** Waits until a load is under way: some users are loaded, and not all. */
const underWay = (file: string) =>
  eventually(async () => {
    expect(
      Number((JSON.parse(readFileSync(`${file}.progress`, 'utf8')) as { offset: number }).offset),
    ).toBeGreaterThan(0);
  });

describe('a load with faults has the same result as one without', () => {
  it('which is all of its episodes', () => {
    expect(undisturbed.map((lists) => (lists as [number])[0])).toEqual(
      Array(users).fill((episodes * 9) / 10),
    );
  });

  it('of the loader, killed and restarted: it resumes', async () => {
    const [service] = await stack.start(['episode']);
    const names = newUsers();
    const file = loader.write(dataOf(names));
    const { ended, kill } = loader.begin(file, ['--parallel', '1']);
    await underWay(file);
    kill();
    expect((await ended).code).toBeNull();
    const again = await loader.run(file);
    expect(again).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('continuing after line'),
      rejected: [],
    });
    expect(await listsOf(names)).toEqual(undisturbed);
    await service?.stop();
  });

  it('of the loader, stopped in order: it prints where it resumes', async () => {
    const [service] = await stack.start(['episode']);
    const names = newUsers();
    const file = loader.write(dataOf(names));
    const { ended, stop } = loader.begin(file, ['--parallel', '1']);
    await underWay(file);
    stop();
    expect(await ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a later run continues'),
    });
    expect(await loader.run(file)).toMatchObject({ code: 0, rejected: [] });
    expect(await listsOf(names)).toEqual(undisturbed);
    await service?.stop();
  });

  it('of a service, unavailable at first and killed later: nothing is rejected', async () => {
    const names = newUsers();
    const file = loader.write(dataOf(names));
    const { ended } = loader.begin(file);
    const [killed] = await stack.start(['episode']);
    await underWay(file);
    await killed?.kill();
    const [service] = await stack.start(['episode']);
    expect(await ended).toMatchObject({ code: 0, rejected: [] });
    expect(await listsOf(names)).toEqual(undisturbed);
    await service?.stop();
  });

  it('of Postgres, killed in the middle: nothing is refused, nothing lost', async () => {
    const [service] = await stack.start(['episode']);
    const names = newUsers();
    const file = loader.write(dataOf(names));
    const { ended } = loader.begin(file);
    await underWay(file);
    await stack.postgresServer.kill();
    await stack.postgresServer.start();
    expect(await ended).toMatchObject({ code: 0, rejected: [] });
    await eventually(async () => expect(await listsOf(names)).toEqual(undisturbed), {
      timeout: 60_000,
    });
    await service?.stop();
  });

  it('of two concurrent loads of a file: rows of both exist once', async () => {
    const [service] = await stack.start(['episode']);
    const names = newUsers();
    const file = loader.write(dataOf(names));
    const [first, second] = [loader.begin(file), loader.begin(file)];
    expect([await first.ended, await second.ended]).toMatchObject([
      { code: 0, rejected: [] },
      { code: 0, rejected: [] },
    ]);
    expect(await listsOf(names)).toEqual(undisturbed);
    await service?.stop();
  });
});
