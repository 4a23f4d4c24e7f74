import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { userId } from '#identity';
import { callProgram, Fixture, type FixtureDatabase, startProgram } from '#testing';
import { podcastSync } from '../../cli/src/podcast-sync.js';
import { linesIn, partOf, DumpedUser } from '../testing/dumped-user.js';
import { DumpReader } from './dump-reader.js';

const fixture = new Fixture();
let database: FixtureDatabase;
let folder: string;
beforeAll(async () => {
  database = await fixture.database('dump');
  folder = mkdtempSync(join(tmpdir(), 'dump-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await fixture.close();
});

const dump = (args: readonly string[] = [], url = database.urls.dump) =>
  callProgram(podcastSync, ['dump', ...args], { DATABASE_URL: url });

const [a, b, c] = Array.from({ length: 3 }, () => randomUUID()).sort() as [string, string, string];
const clock = '2026-01-01T00:00:00.000Z';

async function dumped(user: DumpedUser) {
  const { code, stdout, stderr } = await dump();
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^Complete: /) as string,
  });
  return partOf(linesIn(stdout), user.id);
}

describe('a dump', () => {
  it('has a part per user with counts at its end, and a last line that counts users', async () => {
    const user = await DumpedUser.make(database.owner, clock);
    const subscription = await user.subscribe({ guid: a });
    await user.upload(subscription, 2);
    // The only start of the built program.
    const { code, stdout } = await startProgram('podcast-sync', ['dump'], {
      DATABASE_URL: database.urls.dump,
    });
    expect(code).toBe(0);
    const lines = linesIn(stdout);
    expect(lines[0]).toEqual({ podcast_sync: { format: 1 } });
    const part = partOf(lines, user.id);
    expect(part.user).toEqual({ user: { id: user.id } });
    expect(part.episodes.map(({ podcast_guid }) => podcast_guid)).toEqual([a, a]);
    expect(part.end).toEqual({ end: { subscriptions: 1, episodes: 2 } });
    expect(lines.at(-1)).toEqual({
      complete: { users: lines.filter((line) => 'user' in line).length },
    });
  });

  it('contains the set fields of an episode, with times in their full form', async () => {
    const user = await DumpedUser.make(database.owner);
    const subscription_id = await user.subscribe({ guid: a });
    const episode = {
      subscription_id,
      sync_id: b,
      episode_guid: '"1"\\\n',
      title: 'Ü',
      enclosure_url: '',
      episode_url: '',
    };
    const id = await user.add('episode.episodes', {
      ...episode,
      publish_date: 'epoch',
      duration: 90.5,
    });
    await user.add('episode.states', {
      id,
      sync_id: b,
      changed: clock,
      playback_position: 0,
      playback_position_at: '2025-02-03T04:05:06.000007Z',
      played_status: false,
      played_status_at: '2025-02-03T04:05:00Z',
      minute_forms: 2,
    });
    expect((await dumped(user)).episodes).toEqual([
      {
        podcast_guid: a,
        sync_id: b,
        episode_guid: '"1"\\\n',
        title: 'Ü',
        duration: 90.5,
        playback_position: { value: 0, timestamp: '2025-02-03T04:05:06.000007+00:00' },
        played_status: { value: false, timestamp: '2025-02-03T04:05' },
      },
    ]);
  });

  it('contains live subscriptions with current guid, URL and state, and no others', async () => {
    const user = await DumpedUser.make(database.owner);
    const feed_url = 'https://podcast.example/feed';
    const is_subscribed_at = '2025-02-03T04:05:06.000007Z';
    const survivor = await user.subscribe({
      feed_url,
      guid: a,
      is_subscribed_at,
      is_subscribed: false,
    });
    await user.subscribe({ guid: b, is_subscribed: false, deleted: clock, changed: clock });
    await user.subscribe({ guid: c, merged_into: survivor, merged_at: clock, changed: clock });
    await user.subscribe({
      feed_url: `${feed_url}/2`,
      guid: randomUUID(),
      is_subscribed_at: 'epoch',
      title: 'Two',
    });
    expect((await dumped(user)).subscriptions).toEqual([
      { feed_url, guid: a, is_subscribed: false, timestamp: '2025-02-03T04:05:06.000007+00:00' },
      { feed_url: `${feed_url}/2`, guid: expect.any(String), is_subscribed: true, title: 'Two' },
    ]);
  });

  it('contains a snapshot of a user during concurrent writes', async () => {
    const user = await DumpedUser.make(database.owner, clock);
    const subscription = await user.subscribe({ guid: a });
    await user.upload(subscription, 2_500);
    const client = new pg.Client({
      connectionString: database.urls.dump,
      pipeline: true,
      options: '-c TimeZone=UTC',
    });
    await client.connect();
    let text = '';
    for await (const lines of new DumpReader(client).partOf({
      id: user.id,
      name: { id: user.id },
    })) {
      if (text === '') {
        await database.owner.query(
          'UPDATE episode.states SET playback_position = 2 WHERE user_id = $1',
          [user.id],
        );
        await database.owner.query(
          `UPDATE sync.user_clock SET stamp = '2027-01-01' WHERE user_id = $1`,
          [user.id],
        );
        await user.upload(await user.subscribe({ guid: b }), 1_000);
      }
      text += lines;
    }
    await client.end();
    const part = partOf(linesIn(text), user.id);
    expect(part.user).toEqual({ user: { id: user.id } });
    expect(part.end).toEqual({ end: { subscriptions: 1, episodes: 2_500 } });
    expect(new Set(part.episodes.map(({ playback_position }) => playback_position?.value))).toEqual(
      new Set([1]),
    );
    expect(new Set(part.episodes.map(({ episode_guid }) => episode_guid)).size).toBe(2_500);
  });

  it('reports the number of PENDING deletions', async () => {
    const user = await DumpedUser.make(database.owner);
    await user.subscribe({ deletion_id: 7 });
    const users = join(folder, 'pending');
    writeFileSync(users, JSON.stringify({ id: user.id }));
    expect((await dump(['--users', users])).stderr).toContain('1 deletions are PENDING');
  });
});

describe('the users of a dump', () => {
  it('are all users once, each in one partition', async () => {
    for (let n = 0; n < 30; n += 1) await DumpedUser.make(database.owner);
    const { rows } = await database.owner.query<{ id: string }>(
      'SELECT user_id AS id FROM sync.user_clock ORDER BY 1',
    );
    const idsOf = async (...args: string[]) =>
      linesIn((await dump(args)).stdout).flatMap((line) =>
        'user' in line && 'id' in line.user ? [line.user.id] : [],
      );
    const partitions = await Promise.all([1, 2, 3].map((n) => idsOf('--shard', `${n}/3`)));
    expect(partitions.flat().sort()).toEqual(rows.map(({ id }) => id));
    expect(partitions.every(({ length }) => length > 0)).toBe(true);
    expect(await idsOf()).toEqual(rows.map(({ id }) => id));
  });

  it('are those of a file, in its order and form', async () => {
    const [issuer, subject] = ['https://id.example', 'ann'];
    const ann = await DumpedUser.make(database.owner, clock, userId(issuer, subject, ''));
    await ann.subscribe({ guid: a });
    const bob = await DumpedUser.make(database.owner);
    const [users, nobody] = [join(folder, 'users'), randomUUID()];
    writeFileSync(
      users,
      [{ id: bob.id }, { issuer, subject }, { id: nobody }]
        .map((user) => JSON.stringify(user))
        .join('\r\n'),
    );
    const { code, stdout, stderr } = await dump(['--users', users]);
    const lines = linesIn(stdout);
    expect(lines.filter((line) => 'user' in line)).toEqual([
      { user: { id: bob.id } },
      { user: { issuer, subject } },
      { user: { id: nobody } },
    ]);
    expect(lines.filter((line) => 'end' in line)).toEqual(
      [0, 1, 0].map((subscriptions) => ({ end: { subscriptions, episodes: 0 } })),
    );
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 of the users have no data')]);
  });
});

describe('an omitted user', () => {
  const named = ({ id }: DumpedUser) => `{"id":"${id}"}\n`;
  const idsIn = (stdout: string) =>
    linesIn(stdout).flatMap((line) => ('user' in line && 'id' in line.user ? [line.user.id] : []));

  it.each([
    [2, 'is being erased'],
    [3, 'was erased'],
  ])('is one with the refusal %i, who %s, among all users and in a file', async (why) => {
    const [refused, other] = [
      await DumpedUser.make(database.owner),
      await DumpedUser.make(database.owner),
    ];
    for (const user of [refused, other]) await user.upload(await user.subscribe(), 1);
    await database.owner.query('UPDATE sync.user_clock SET refused = $2 WHERE user_id = $1', [
      refused.id,
      why,
    ]);
    const everybody = await dump();
    expect(everybody.code).toBe(0);
    expect(everybody.stdout).not.toContain(refused.id);
    expect(idsIn(everybody.stdout)).toContain(other.id);
    expect(linesIn(everybody.stdout).at(-1)).toEqual({
      complete: { users: idsIn(everybody.stdout).length },
    });
    const users = join(folder, randomUUID());
    writeFileSync(users, named(refused) + named(other));
    const { code, stdout, stderr } = await dump(['--users', users]);
    expect([code, idsIn(stdout), linesIn(stdout).at(-1)]).toEqual([
      0,
      [other.id],
      { complete: { users: 1 } },
    ]);
    expect(stderr).toContain('1 of the users are erased or being erased: omitted.');
  });

  it('is not one who is only disabled', async () => {
    const user = await DumpedUser.make(database.owner);
    await user.upload(await user.subscribe(), 1);
    await database.owner.query('UPDATE sync.user_clock SET refused = 1 WHERE user_id = $1', [
      user.id,
    ]);
    expect((await dumped(user)).end).toEqual({ end: { subscriptions: 1, episodes: 1 } });
  });
});

describe('the file of a dump', () => {
  it('is private to its owner, and compressed by its file extension', async () => {
    const [plain, gzipped] = [join(folder, 'all.ndjson'), join(folder, 'all.ndjson.gz')];
    for (const out of [plain, gzipped]) expect((await dump(['--out', out])).code).toBe(0);
    for (const out of [plain, gzipped]) expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(gunzipSync(readFileSync(gzipped)).equals(readFileSync(plain))).toBe(true);
  });

  it('never replaces another file', async () => {
    const out = join(folder, 'other');
    writeFileSync(out, 'other');
    const { code, stderr } = await dump(['--out', out]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^dump: not complete: .*EEXIST/)]);
    expect(readFileSync(out, 'utf8')).toBe('other');
  });
});

describe('a failing dump', () => {
  it('names the line without a user, and has no last line', async () => {
    const users = join(folder, 'wrong');
    writeFileSync(
      users,
      `${JSON.stringify({ id: randomUUID() })}\n{"issuer":"https://id.example"}\n`,
    );
    const { code, stdout, stderr } = await dump(['--users', users]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^dump: not complete: line 2 of /)]);
    expect(linesIn(stdout).at(-1)).toEqual({ end: { subscriptions: 0, episodes: 0 } });
  });

  it('exits with 1 without Postgres, and shows no password', async () => {
    const { code, stderr } = await dump([], 'postgres://u:secret@127.0.0.1:1/d');
    expect([code, stderr]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
    expect(stderr).not.toContain('secret');
  });

  it('exits with 2 for invalid options, and with 78 for invalid variables', async () => {
    expect(await dump(['--all'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('See: podcast-sync dump --help') as string,
    });
    expect(await dump([], 'mysql://x')).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('DATABASE_URL: must be a URL like') as string,
    });
  });
});
