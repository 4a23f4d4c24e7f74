import { describe, expect, it } from 'vitest';
import { unknownMetadata } from '#contracts';
import {
  decodedUrls,
  differentUrls,
  equalUrls,
  inBothOrders,
} from '../../../libs/contracts/testing/url-vectors.js';
import {
  changedRow,
  earlier,
  elsewhere,
  formerly,
  metadata,
  nothing,
  now,
  stored,
  syncId,
  upload,
  episodeSet,
} from '../testing/episode-set.fixture.js';
import type { EpisodeRow } from './episode.rules.js';

const sentStatus = (value: boolean | number, timestamp: string) => ({ value, timestamp });
const [ten, eleven] = ['2026-02-01T10:00:00Z', '2026-02-01T11:00:00Z'] as const;
const status = (value: boolean | number, at: string) => ({
  value,
  at: at.replace('Z', '.000000Z'),
  minuteForm: false,
});

describe('an entry without a stored sync_id', () => {
  it('creates an episode with a new sync_id', () => {
    const episodes = episodeSet();
    expect(upload(episodes, metadata(1))).toEqual([100]);
    expect(changedRow(episodes, 100)).toMatchObject({
      ...metadata(1),
      subscriptionId: 10,
      changed: now,
    });
    expect(changedRow(episodes, 100)?.syncId).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  });

  it("creates an episode with the client's sync_id", () => {
    const episodes = episodeSet();
    expect(upload(episodes, { ...metadata(1), syncId: syncId(1) })).toEqual([100]);
    expect(changedRow(episodes, 100)).toMatchObject({ syncId: syncId(1) });
  });

  it.each([
    ['an episode_guid', { episodeGuid: 'g' }],
    ['an enclosure_url', { enclosureUrl: metadata(1).enclosureUrl }],
  ])('creates an episode from %s alone; the rest is unknown', (_, sent) => {
    const episodes = episodeSet();
    expect(upload(episodes, sent)).toEqual([100]);
    expect(changedRow(episodes, 100)).toMatchObject({ ...unknownMetadata, ...sent });
  });

  it('is rejected without both, even if other fields match an episode', () => {
    const episodes = episodeSet([stored(1)]);
    const [message] = upload(episodes, {
      ...metadata(1, { episodeGuid: '', enclosureUrl: '' }),
      syncId: syncId(9),
    });
    expect(message).toBe('Unknown sync_id: send an episode_guid or an enclosure_url');
    expect(episodes.changes()).toMatchObject({ rows: [], aliases: [] });
    expect(upload(episodes, { title: 'Title 1' })).toEqual([
      'A sync_id, an episode_guid or an enclosure_url is missing',
    ]);
  });

  it('never matches by unknown values', () => {
    const bare = (n: number) => ({ enclosureUrl: metadata(n).enclosureUrl });
    const named = (n: number) => ({ episodeGuid: metadata(n).episodeGuid });
    expect(upload(episodeSet(), bare(1), bare(2), named(3), named(4))).toEqual([
      100, 101, 102, 103,
    ]);
    const untitled = { publishDate: unknownMetadata.publishDate, title: 'Same' };
    expect(upload(episodeSet(), { ...bare(1), ...untitled }, { ...bare(2), ...untitled })).toEqual([
      100, 101,
    ]);
  });

  it('is stored without an episode_url, and gets one that is sent later', () => {
    const episodes = episodeSet();
    const later = { syncId: syncId(1), episodeUrl: metadata(1).episodeUrl };
    expect(upload(episodes, { ...metadata(1), ...later, episodeUrl: 'unusable' })).toEqual([100]);
    expect(changedRow(episodes, 100)).toMatchObject({ episodeUrl: '' });
    expect(upload(episodes, later, { syncId: syncId(1), episodeUrl: '' })).toEqual([100, 100]);
    expect(changedRow(episodes, 100)).toMatchObject(metadata(1));
  });

  it('matches the most certain episode, then the lowest row id', () => {
    const shared = { enclosureUrl: 'https://media.example/shared.mp3', episodeGuid: '' };
    expect(
      upload(episodeSet([stored(3), stored(1, shared), stored(2, shared)]), {
        ...metadata(9),
        ...shared,
      }),
    ).toEqual([1]);
  });

  it('replaces stored metadata with sent metadata', () => {
    const episodes = episodeSet([stored(1)]);
    const sent = metadata(2, { episodeGuid: 'episode-1' });
    expect(upload(episodes, sent)).toEqual([1]);
    expect(changedRow(episodes, 1)).toMatchObject({ ...sent, syncId: syncId(1), changed: now });
  });

  it('never matches an episode of another subscription', () => {
    expect(upload(episodeSet([stored(1, { subscriptionId: 20 })]), metadata(1))).toEqual([100]);
  });
});

describe('an entry with a sync_id', () => {
  it('needs no other identifier if the sync_id is stored', () => {
    const episodes = episodeSet([stored(1)]);
    expect(upload(episodes, { syncId: syncId(1), playedStatus: sentStatus(true, ten) })).toEqual([
      1,
    ]);
    expect(changedRow(episodes, 1)).toMatchObject({
      changed: now,
      statuses: { playedStatus: status(true, ten) },
    });
  });

  it('matches by the sync_id before anything else', () => {
    const episodes = episodeSet([stored(1), stored(2)]);
    expect(upload(episodes, { syncId: syncId(2), enclosureUrl: metadata(1).enclosureUrl })).toEqual(
      [2],
    );
  });

  it('matches by an alias; the stored sync_id stays', () => {
    const episodes = episodeSet([stored(1)], [[syncId(7), 1]]);
    expect(upload(episodes, { syncId: syncId(7), title: 'New' })).toEqual([1]);
    expect(changedRow(episodes, 1)).toMatchObject({ syncId: syncId(1), title: 'New' });
  });

  it('makes another sync_id of a matched episode an alias, without a change', () => {
    const episodes = episodeSet([stored(1)]);
    expect(upload(episodes, { ...metadata(1), syncId: syncId(7) }, { syncId: syncId(7) })).toEqual([
      1, 1,
    ]);
    expect(episodes.changes()).toMatchObject({ rows: [], aliases: [[syncId(7), 1]] });
  });

  it("is rejected if it names another subscription's episode", () => {
    const episodes = episodeSet([stored(1, { subscriptionId: 20 })]);
    const [message] = upload(episodes, { ...metadata(1), syncId: syncId(1) });
    expect(message).toBe('This sync_id belongs to an episode of another subscription');
    expect(episodes.changes().rows).toEqual([]);
  });

  it('merges the episode with the episode_guid into the one with the sync_id', () => {
    const episodes = episodeSet([
      stored(1, { statuses: { playedStatus: status(true, ten), newStatus: status(true, eleven) } }),
      stored(2, {
        statuses: { playedStatus: status(false, eleven), newStatus: status(false, ten) },
        episodeGuid: 'g',
      }),
    ]);
    expect(
      upload(episodes, { syncId: syncId(1), episodeGuid: 'g' }, { syncId: syncId(2) }),
    ).toEqual([1, 1]);
    expect(changedRow(episodes, 1)).toMatchObject({
      ...metadata(1, { episodeGuid: 'g' }),
      syncId: syncId(1),
      changed: now,
      statuses: { playedStatus: status(false, eleven), newStatus: status(true, eleven) },
    });
    expect(episodes.changes()).toMatchObject({
      absorbed: [{ from: 2, into: 1 }],
      aliases: [[syncId(2), 1]],
    });
  });
});

describe('beyond the quotas', () => {
  it('creates no episode and no alias, but changes existing ones', () => {
    const episodes = episodeSet([stored(1)], [], [], { episodes: 0, aliases: 0 });
    const [refused, changed] = upload(episodes, metadata(2), {
      ...metadata(1),
      syncId: syncId(9),
      title: 'New',
    });
    expect([refused, changed]).toEqual([expect.stringContaining('quota'), 1]);
    expect(episodes.changes()).toMatchObject({ rows: [{ id: 1, title: 'New' }], aliases: [] });
  });
});

describe('the subscription of an entry', () => {
  it('is matched by any guid it ever had', () => {
    expect(upload(episodeSet([stored(1)]), { ...metadata(1), podcastGuid: formerly })).toEqual([1]);
  });

  it('must be a live one of the user', () => {
    const [message] = upload(episodeSet(), { ...metadata(1), podcastGuid: syncId(1) });
    expect(message).toBe('There is no subscription with this podcast_guid');
  });

  it('separates equal episodes from those of another subscription', () => {
    const episodes = episodeSet();
    expect(upload(episodes, metadata(1), { ...metadata(1), podcastGuid: elsewhere })).toEqual([
      100, 101,
    ]);
  });
});

describe('a batch', () => {
  it('applies each entry to the result of the earlier ones', () => {
    const episodes = episodeSet();
    const entries = [
      { ...metadata(1), syncId: syncId(1) },
      metadata(1),
      { syncId: syncId(1), title: 'Last' },
    ];
    expect(upload(episodes, ...entries)).toEqual([100, 100, 100]);
    expect(episodes.changes().rows).toHaveLength(1);
    expect(changedRow(episodes, 100)).toMatchObject({ title: 'Last' });
  });

  it('is applied in spite of an invalid entry', () => {
    const episodes = episodeSet();
    expect(upload(episodes, metadata(1), { episodeGuid: 5 }, metadata(2))).toEqual([
      100,
      'episode_guid is not a string',
      101,
    ]);
  });

  it('swaps episode_guids through a third, and returns the rows to rename first', () => {
    const episodes = episodeSet([stored(1), stored(2)]);
    const swap = [
      { syncId: syncId(1), episodeGuid: 'meanwhile' },
      { syncId: syncId(2), episodeGuid: 'episode-1' },
      { syncId: syncId(1), episodeGuid: 'episode-2' },
    ];
    expect(upload(episodes, ...swap)).toEqual([1, 2, 1]);
    expect([1, 2].map((id) => changedRow(episodes, id)?.episodeGuid)).toEqual([
      'episode-2',
      'episode-1',
    ]);
    expect(episodes.changes()).toMatchObject({ absorbed: [], renamed: [syncId(1), syncId(2)] });
  });

  it('merges two episodes if it swaps their episode_guids directly', () => {
    const episodes = episodeSet([stored(1), stored(2)]);
    const swap = [
      { syncId: syncId(1), episodeGuid: 'episode-2' },
      { syncId: syncId(2), episodeGuid: 'episode-1' },
    ];
    expect(upload(episodes, ...swap)).toEqual([1, 1]);
    expect(changedRow(episodes, 1)).toMatchObject({ episodeGuid: 'episode-1' });
    expect(episodes.changes().absorbed).toEqual([{ from: 2, into: 1 }]);
  });

  it('resolves chains of merges to the survivor, with all aliases', () => {
    const episodes = episodeSet([stored(1), stored(2), stored(3)], [[syncId(8), 3]]);
    const chain = [
      { syncId: syncId(2), episodeGuid: 'episode-3' },
      { syncId: syncId(1), episodeGuid: 'episode-3' },
      { syncId: syncId(8), title: 'Last' },
    ];
    expect(upload(episodes, ...chain)).toEqual([1, 1, 1]);
    expect(changedRow(episodes, 1)).toMatchObject({ episodeGuid: 'episode-3', title: 'Last' });
    expect(episodes.changes().absorbed).toEqual([
      { from: 3, into: 1 },
      { from: 2, into: 1 },
    ]);
    expect(Object.fromEntries(episodes.changes().aliases)).toMatchObject({
      [syncId(2)]: 1,
      [syncId(3)]: 1,
    });
  });
});

describe('an entry that repeats the current values', () => {
  const whole = stored(1, {
    statuses: { playedStatus: status(true, ten), playbackPosition: status(5, ten) },
  });

  it('changes and writes nothing', () => {
    const episodes = episodeSet([whole]);
    const again = {
      playedStatus: sentStatus(true, '2026-02-01T10:00'),
      playbackPosition: sentStatus(5, ten),
    };
    expect(upload(episodes, { ...metadata(1), ...again, syncId: syncId(1) })).toEqual([1]);
    expect(episodes.changes()).toEqual(nothing);
  });

  it('gets no new stamp for a clamped time or another second of the minute', () => {
    const episodes = episodeSet([whole]);
    const again = {
      playedStatus: sentStatus(true, '2999-01-01T00:00:00Z'),
      playbackPosition: sentStatus(5, '2026-02-01T10:00:59Z'),
    };
    upload(episodes, { ...again, syncId: syncId(1) });
    expect(changedRow(episodes, 1)?.changed ?? earlier).toBe(earlier);
  });

  it('changes only the status that differs', () => {
    const episodes = episodeSet([whole]);
    upload(episodes, {
      syncId: syncId(1),
      playedStatus: sentStatus(true, ten),
      playbackPosition: sentStatus(6, ten),
    });
    expect(changedRow(episodes, 1)).toMatchObject({
      changed: now,
      statuses: { playbackPosition: status(6, ten) },
    });
  });

  it('changes nothing with an earlier time either', () => {
    const episodes = episodeSet([whole]);
    upload(episodes, {
      syncId: syncId(1),
      playedStatus: sentStatus(false, '2026-02-01T09:00:00Z'),
    });
    expect(episodes.changes().rows).toEqual([]);
  });

  it('gets no new stamp for a batch that restores the initial values', () => {
    const episodes = episodeSet([whole]);
    const there = { syncId: syncId(1), title: 'Meanwhile', playbackPosition: sentStatus(6, ten) };
    upload(episodes, there, {
      syncId: syncId(1),
      title: 'Title 1',
      playbackPosition: sentStatus(5, ten),
    });
    expect(changedRow(episodes, 1)?.changed ?? earlier).toBe(earlier);
  });

  it('does not replace values with empty or unknown ones', () => {
    const episodes = episodeSet([{ ...whole, duration: 90 }]);
    const unknown = { ...unknownMetadata, publishDate: '1970-01-01T01:00:00+01:00', duration: 0 };
    upload(episodes, { ...unknown, syncId: syncId(1) });
    expect(episodes.changes().rows).toEqual([]);
  });
});

describe('a duration', () => {
  it('is the last one sent, regardless of times', () => {
    const episodes = episodeSet([stored(1, { statuses: { playedStatus: status(true, eleven) } })]);
    const sent = [90.5, 60].map((duration) => ({
      syncId: syncId(1),
      duration,
      playedStatus: sentStatus(false, ten),
    }));
    expect(upload(episodes, ...sent, { syncId: syncId(1) })).toEqual([1, 1, 1]);
    expect(changedRow(episodes, 1)).toMatchObject({
      duration: 60,
      statuses: { playedStatus: status(true, eleven) },
    });
  });

  it('is stamped if it differs', () => {
    const episodes = episodeSet([stored(1, { duration: 60 }), stored(2, { duration: 60 })]);
    upload(episodes, { syncId: syncId(1), duration: 61 }, { syncId: syncId(2), duration: 60 });
    expect(episodes.changes().rows).toMatchObject([{ id: 1, changed: now, duration: 61 }]);
  });

  it('does not identify an episode', () => {
    const episodes = episodeSet([stored(1, { duration: 60 })]);
    expect(upload(episodes, { episodeGuid: 'g', duration: 60 })).toEqual([100]);
  });
});

describe('an entry that completes its row', () => {
  const { enclosureUrl } = metadata(7);
  const named = stored(1, { ...unknownMetadata, episodeGuid: 'g' });
  const bare = (n: number, differing: Partial<EpisodeRow> = {}) =>
    stored(n, { ...unknownMetadata, enclosureUrl, ...differing });
  const both = { episodeGuid: 'g', enclosureUrl };

  it.each([
    ['by its episode_guid', both],
    ['by its sync_id', { syncId: syncId(1), enclosureUrl }],
  ])('with an enclosure_url %s absorbs the row that has it and no guid', (_, sent) => {
    const episodes = episodeSet([
      {
        ...named,
        statuses: { playedStatus: status(true, ten), newStatus: status(true, eleven) },
      },
      bare(2, {
        title: 'Other',
        statuses: { playedStatus: status(false, eleven), newStatus: status(false, ten) },
      }),
    ]);
    expect(upload(episodes, sent, { syncId: syncId(2) }, { enclosureUrl })).toEqual([1, 1, 1]);
    expect(changedRow(episodes, 1)).toMatchObject({
      ...both,
      syncId: syncId(1),
      title: 'Other',
      changed: now,
      statuses: { playedStatus: status(false, eleven), newStatus: status(true, eleven) },
    });
    expect(episodes.changes()).toMatchObject({
      absorbed: [{ from: 2, into: 1 }],
      aliases: [[syncId(2), 1]],
    });
  });

  it('keeps the row that it matches first, even if the other is older', () => {
    const episodes = episodeSet([bare(1), { ...named, id: 2, syncId: syncId(2) }]);
    expect(upload(episodes, both)).toEqual([2]);
    expect(episodes.changes().absorbed).toEqual([{ from: 1, into: 2 }]);
  });

  it('absorbs all matches of its enclosure_url', () => {
    const episodes = episodeSet([
      named,
      bare(2, { title: 'Two' }),
      bare(3, { title: 'Three', duration: 3 }),
    ]);
    expect(upload(episodes, both)).toEqual([1]);
    expect(episodes.changes().absorbed).toEqual([
      { from: 2, into: 1 },
      { from: 3, into: 1 },
    ]);
    expect(changedRow(episodes, 1)).toMatchObject({ title: 'Two', duration: 3 });
  });

  it('absorbs by sync_id the matches of its episode_guid and enclosure_url', () => {
    const episodes = episodeSet([named, stored(2), bare(3)]);
    const sent = { syncId: syncId(1), episodeGuid: metadata(2).episodeGuid, enclosureUrl };
    expect(upload(episodes, sent)).toEqual([1]);
    expect(changedRow(episodes, 1)).toMatchObject({ ...metadata(2), enclosureUrl });
    expect(episodes.changes()).toMatchObject({
      renamed: [syncId(1)],
      absorbed: [{ from: 2 }, { from: 3 }],
    });
  });

  it('matches episodes that earlier entries of the batch created', () => {
    const episodes = episodeSet();
    const entries = [
      { episodeGuid: 'g', syncId: syncId(1) },
      { enclosureUrl },
      { syncId: syncId(1), enclosureUrl },
    ];
    expect(upload(episodes, ...entries)).toEqual([100, 100, 100]);
    expect(episodes.changes().rows).toMatchObject([both]);
    const again = episodeSet();
    expect(upload(again, { enclosureUrl, syncId: syncId(2) }, { episodeGuid: 'g' }, both)).toEqual([
      101, 101, 101,
    ]);
    expect(Object.fromEntries(again.changes().aliases)).toEqual({ [syncId(2)]: 101 });
  });

  it("absorbs neither a row with its own episode_guid nor another subscription's", () => {
    const episodes = episodeSet([
      named,
      stored(2, { enclosureUrl }),
      bare(3, { subscriptionId: 20 }),
    ]);
    expect(upload(episodes, both)).toEqual([1]);
    expect(episodes.changes().absorbed).toEqual([]);
  });

  it('absorbs nothing if its row already has an enclosure_url', () => {
    const episodes = episodeSet([stored(1), bare(2)]);
    expect(upload(episodes, { syncId: syncId(1), enclosureUrl })).toEqual([1]);
    expect(episodes.changes()).toMatchObject({ absorbed: [], rows: [{ id: 1, enclosureUrl }] });
  });
});

describe('two episodes that are merged', () => {
  it('have the metadata of the survivor, completed by the other', () => {
    const [lacking, other] = [
      { ...unknownMetadata, enclosureUrl: metadata(1).enclosureUrl },
      { ...metadata(2), duration: 9 },
    ];
    const episodes = episodeSet([stored(1, lacking), stored(2, other)]);
    upload(episodes, { syncId: syncId(1), episodeGuid: metadata(2).episodeGuid });
    expect(changedRow(episodes, 1)).toMatchObject({ ...other, enclosureUrl: lacking.enclosureUrl });
    const full = episodeSet([stored(1, { duration: 5 }), stored(2, other)]);
    upload(full, { syncId: syncId(1), episodeGuid: metadata(2).episodeGuid });
    expect(changedRow(full, 1)).toMatchObject({
      ...metadata(1),
      duration: 5,
      episodeGuid: metadata(2).episodeGuid,
    });
  });
});

describe('equal enclosure URLs', () => {
  const pairs = inBothOrders([...equalUrls, ...decodedUrls]);

  it.each(pairs)('are one episode, shown as first sent: %s, %s', (first, second) => {
    const episodes = episodeSet();
    expect(upload(episodes, { enclosureUrl: first }, { enclosureUrl: second })).toEqual([100, 100]);
    expect(changedRow(episodes, 100)).toMatchObject({ enclosureUrl: first });
  });

  it.each(pairs)('change nothing of a stored episode: %s, %s', (first, second) => {
    const episodes = episodeSet([stored(1, { enclosureUrl: first })]);
    expect(upload(episodes, { ...metadata(1), enclosureUrl: second })).toEqual([1]);
    expect(episodes.changes()).toEqual(nothing);
  });

  it.each(inBothOrders(differentUrls))('are not %s and %s', (first, second) => {
    expect(upload(episodeSet(), { enclosureUrl: first }, { enclosureUrl: second })).toEqual([
      100, 101,
    ]);
  });
});
