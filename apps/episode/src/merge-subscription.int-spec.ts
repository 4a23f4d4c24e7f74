import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freshUser } from '#testing';
import { metadata, syncId } from '../testing/known.world.js';
import { bestMatch, matchRank } from '../testing/plain.match.js';
import { openService, type ServiceWorld } from '../testing/service.world.js';
import type { Metadata } from './episode-entry.rule.js';

import { type Status, type StatusName, statusNames } from '#contracts';
import { newer } from './status.rule.js';

/** `episode.merge_subscription` is what the subscription service calls: it must do what the rules in TypeScript say. */

interface Episode extends Metadata {
  id: number;
  subscription: number;
  syncId: string;
  changed: string;
  statuses: Partial<Record<StatusName, Status>>;
}

const [from, into] = [1, 2];
const [earlier, stamp] = ['2026-01-01T00:00:00.000Z', '2026-02-02T00:00:00.000Z'];

let world: ServiceWorld;
beforeAll(async () => {
  world = await openService();
});
afterAll(() => world.close());

const column = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const utc = (time: string) => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

async function store(userId: string, episodes: readonly Episode[]): Promise<void> {
  const rows = episodes.map(({ statuses, subscription, ...episode }) => {
    const fields = Object.entries({ ...episode, subscriptionId: subscription }).map(([name, value]) => [
      column(name),
      value,
    ]);
    const status = statusNames.flatMap((name) => [
      [column(name), statuses[name]?.value],
      [`${column(name)}_at`, statuses[name]?.at],
    ]);
    const minuteForms = statusNames.reduce((bits, name, bit) => bits | (statuses[name]?.minuteForm ? 1 << bit : 0), 0);
    return { user_id: userId, minute_forms: minuteForms, ...Object.fromEntries([...fields, ...status]) };
  });
  await world.owner.query(
    'INSERT INTO episode.episodes SELECT * FROM json_populate_recordset(NULL::episode.episodes, $1)',
    [JSON.stringify(rows)],
  );
}

async function read(userId: string): Promise<Episode[]> {
  const status = statusNames.map((name) => `${column(name)} AS "${name}", ${utc(`${column(name)}_at`)} AS "${name}At"`);
  const { rows } = await world.owner.query<Record<string, string | number | boolean | null> & { minuteForms: number }>(
    `SELECT id::int, subscription_id::int AS subscription, sync_id AS "syncId", ${utc('changed')} AS changed, title,
       episode_guid AS "episodeGuid", ${utc('publish_date')} AS "publishDate", enclosure_url AS "enclosureUrl",
       episode_url AS "episodeUrl", minute_forms AS "minuteForms", ${status.join(', ')}
     FROM episode.episodes WHERE user_id = $1 ORDER BY id`,
    [userId],
  );
  const toStamp = (time: unknown) => `${String(time).slice(0, 23)}Z`;
  return rows.map((row) => {
    const statuses = statusNames.flatMap((name, bit) =>
      row[name] === null
        ? []
        : [[name, { value: row[name], at: row[`${name}At`], minuteForm: (row.minuteForms & (1 << bit)) !== 0 }]],
    );
    const { id, subscription, title, episodeGuid, enclosureUrl, episodeUrl } = row;
    return {
      ...{ id, subscription, syncId: row['syncId'], title, episodeGuid, enclosureUrl, episodeUrl },
      changed: toStamp(row['changed']),
      publishDate: toStamp(row['publishDate']),
      statuses: Object.fromEntries(statuses) as Episode['statuses'],
    } as Episode;
  });
}

/**
 * The merge by the rules: each episode of the one that goes is the same as the surest of the one that stays, as that
 * was; where that had no guid and has taken another's, only if the two guids may differ.
 */
function merged(episodes: readonly Episode[]): { after: Episode[]; names: Map<string, number> } {
  const staying = episodes.filter(({ subscription }) => subscription === into);
  const after = new Map(structuredClone(episodes).map((episode) => [episode.id, episode]));
  const named = new Map<number, string>();
  const names = new Map<string, number>();
  for (const going of episodes.filter(({ subscription }) => subscription === from)) {
    const found = bestMatch(going, staying);
    const episodeGuid = found && (named.get(found.id) ?? found.episodeGuid);
    const survivor =
      found && matchRank(going, { ...found, episodeGuid: episodeGuid ?? '' }) ? after.get(found.id) : undefined;
    if (!survivor) {
      Object.assign(after.get(going.id) as Episode, { subscription: into, changed: stamp });
      continue;
    }
    if (survivor.episodeGuid === '' && going.episodeGuid !== '') named.set(survivor.id, going.episodeGuid);
    survivor.episodeGuid ||= going.episodeGuid;
    survivor.title ||= going.title;
    survivor.episodeUrl ||= going.episodeUrl;
    for (const name of statusNames) {
      const status = newer(survivor.statuses[name], going.statuses[name]);
      if (status) survivor.statuses[name] = status;
    }
    after.delete(going.id);
    names.set(going.syncId, survivor.id);
  }
  return { after: [...after.values()], names };
}

const time = fc
  .tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 3 }))
  .map(([minute, second]) => `2026-01-01T12:0${minute}:0${second}.00000${second}Z`);
const status = (value: fc.Arbitrary<Status['value']>) =>
  fc
    .record({ value, at: time, minuteForm: fc.boolean() }, { noNullPrototype: true })
    .map(({ value: sent, at, minuteForm }) => ({
      ...{ value: sent, minuteForm, at: minuteForm ? `${at.slice(0, 16)}:00.000000Z` : at },
    }));
const few = fc.integer({ min: 1, max: 3 });
const flag = status(fc.boolean());
const statuses = fc.record(
  {
    playbackPosition: status(fc.constantFrom(0, 1.5)),
    playedStatus: flag,
    newStatus: flag,
    downloadStatus: flag,
    favoriteStatus: flag,
  },
  { requiredKeys: [], noNullPrototype: true },
);
const description = fc
  .record({
    guid: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 6 })),
    title: fc.nat(2),
    date: few,
    enclosure: few,
    url: fc.nat(3),
    statuses,
  })
  .map(({ guid, title, date, enclosure, url, ...rest }) => ({
    episodeGuid: guid === 0 ? '' : `guid ${guid}\n`,
    title: title === 0 ? '' : `Title ${title}`,
    publishDate: metadata(date).publishDate,
    enclosureUrl: metadata(enclosure).enclosureUrl,
    episodeUrl: url === 0 ? '' : metadata(url).episodeUrl,
    ...rest,
  }));
/** Up to 6 episodes with guids that differ, as stored ones of one subscription do. */
const subscription = fc
  .array(description, { maxLength: 6 })
  .map((episodes) =>
    episodes.filter(
      ({ episodeGuid }, index) =>
        episodeGuid === '' || episodes.findIndex((other) => other.episodeGuid === episodeGuid) === index,
    ),
  );

it('merges the episodes of two subscriptions as the rules do, status by status, and stamps what moved or changed', async () => {
  await fc.assert(
    fc.asyncProperty(subscription, subscription, fc.boolean(), async (going, staying, goingFirst) => {
      const userId = freshUser();
      const both = [
        ...going.map((episode) => ({ ...episode, subscription: from })),
        ...staying.map((episode) => ({ ...episode, subscription: into })),
      ];
      const episodes = both.map((episode, index) => {
        const id = goingFirst ? index + 1 : index + 1 + (index < going.length ? 100 : 0);
        return { ...episode, id, syncId: syncId(id), changed: earlier };
      });
      await store(userId, episodes);
      await world.owner.query('SELECT episode.merge_subscription($1, $2, $3, $4, 1000000)', [
        userId,
        from,
        into,
        stamp,
      ]);
      const expected = merged(episodes);
      const [found, wanted] = [await read(userId), expected.after.sort((a, b) => a.id - b.id)];
      const unstamped = (list: readonly Episode[]) => list.map((episode) => ({ ...episode, changed: '' }));
      expect(unstamped(found)).toEqual(unstamped(wanted));
      for (const episode of found) {
        const before = episodes.find(({ id }) => id === episode.id);
        const same = isDeepStrictEqual({ ...before, changed: '' }, { ...episode, changed: '' });
        expect([episode.id, episode.changed]).toEqual([episode.id, same ? earlier : stamp]);
      }
      const { rows } = await world.owner.query<{ sync_id: string; id: number }>(
        'SELECT sync_id, episode_id::int AS id FROM episode.sync_ids WHERE user_id = $1',
        [userId],
      );
      expect(new Map(rows.map((row) => [row.sync_id, row.id]))).toEqual(expected.names);
    }),
    { numRuns: process.env.TEST_FULL ? 2_000 : 150 },
  );
});

const one = (id: number, subscriptionId: number, differing: Partial<Episode> = {}): Episode => ({
  ...{
    id,
    subscription: subscriptionId,
    syncId: syncId(id),
    changed: earlier,
    statuses: {},
    ...metadata(id),
    ...differing,
  },
});

async function merge(...episodes: Episode[]): Promise<Episode[]> {
  const userId = freshUser();
  await store(userId, episodes);
  await world.owner.query('SELECT episode.merge_subscription($1, $2, $3, $4, 1000000)', [userId, from, into, stamp]);
  return read(userId);
}

it('never makes one of two episodes whose guids differ through a third that has none', async () => {
  const shared = { enclosureUrl: metadata(9).enclosureUrl };
  const after = await merge(one(1, from, shared), one(2, from, shared), one(3, into, { ...shared, episodeGuid: '' }));
  expect(after.map(({ id, episodeGuid }) => [id, episodeGuid])).toEqual([
    [2, 'episode-2'],
    [3, 'episode-1'],
  ]);
});

it('moves what matches nothing, and touches nothing of other subscriptions', async () => {
  const after = await merge(one(1, from), one(2, into), one(3, 7, { episodeGuid: 'episode-1' }));
  expect(after.map(({ subscription: of, changed }) => [of, changed])).toEqual([
    [into, stamp],
    [into, earlier],
    [7, earlier],
  ]);
});

it('takes along the aliases of an absorbed episode', async () => {
  const userId = freshUser();
  await store(userId, [one(1, from), one(2, into, { ...metadata(1) })]);
  await world.owner.query('INSERT INTO episode.sync_ids VALUES ($1, $2, 1)', [userId, syncId(8)]);
  await world.owner.query('SELECT episode.merge_subscription($1, $2, $3, $4, 1000000)', [userId, from, into, stamp]);
  const { rows } = await world.owner.query<{ sync_id: string; id: number }>(
    'SELECT sync_id, episode_id::int AS id FROM episode.sync_ids WHERE user_id = $1 ORDER BY 1',
    [userId],
  );
  expect(rows).toEqual([
    { sync_id: syncId(1), id: 2 },
    { sync_id: syncId(8), id: 2 },
  ]);
});
