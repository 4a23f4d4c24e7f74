import { describe, expect, it } from 'vitest';
import { unknownMetadata } from '#contracts';
import {
  decodedUrls,
  differentUrls,
  equalUrls,
  inBothOrders,
} from '../../../libs/contracts/testing/url.vectors.js';
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
  world,
} from '../testing/known.world.js';
import type { EpisodeRow } from './episode.rule.js';

const status = (value: boolean | number, timestamp: string) => ({ value, timestamp });
const [ten, eleven] = ['2026-02-01T10:00:00Z', '2026-02-01T11:00:00Z'] as const;
const stands = (value: boolean | number, at: string) => ({
  value,
  at: at.replace('Z', '.000000Z'),
  minuteForm: false,
});

describe('an entry without a known sync_id', () => {
  it('creates an episode under a new sync_id', () => {
    const known = world();
    expect(upload(known, metadata(1))).toEqual([100]);
    expect(changedRow(known, 100)).toMatchObject({
      ...metadata(1),
      subscriptionId: 10,
      changed: now,
    });
    expect(changedRow(known, 100)?.syncId).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  });

  it('creates an episode under the sync_id that the client supplies', () => {
    const known = world();
    expect(upload(known, { ...metadata(1), syncId: syncId(1) })).toEqual([100]);
    expect(changedRow(known, 100)).toMatchObject({ syncId: syncId(1) });
  });

  it.each([
    ['an episode_guid', { episodeGuid: 'g' }],
    ['an enclosure_url', { enclosureUrl: metadata(1).enclosureUrl }],
  ])('creates an episode of nothing but %s, the rest of which is unknown', (_, sent) => {
    const known = world();
    expect(upload(known, sent)).toEqual([100]);
    expect(changedRow(known, 100)).toMatchObject({ ...unknownMetadata, ...sent });
  });

  it('is refused where it has neither, even when the rest would find the episode', () => {
    const known = world([stored(1)]);
    const [message] = upload(known, {
      ...metadata(1, { episodeGuid: '', enclosureUrl: '' }),
      syncId: syncId(9),
    });
    expect(message).toBe(
      'An episode_guid or an enclosure_url is needed where the sync_id is none of an episode you have',
    );
    expect(known.changes()).toMatchObject({ rows: [], aliases: [] });
  });

  it('never finds an episode by what both do not know', () => {
    const bare = (n: number) => ({ enclosureUrl: metadata(n).enclosureUrl });
    const named = (n: number) => ({ episodeGuid: metadata(n).episodeGuid });
    expect(upload(world(), bare(1), bare(2), named(3), named(4))).toEqual([100, 101, 102, 103]);
    const untitled = { publishDate: unknownMetadata.publishDate, title: 'Same' };
    expect(upload(world(), { ...bare(1), ...untitled }, { ...bare(2), ...untitled })).toEqual([
      100, 101,
    ]);
  });

  it('is stored without an episode_url where it has none, and gets the one that comes later', () => {
    const known = world();
    const later = { syncId: syncId(1), episodeUrl: metadata(1).episodeUrl };
    expect(upload(known, { ...metadata(1), ...later, episodeUrl: 'unusable' })).toEqual([100]);
    expect(changedRow(known, 100)).toMatchObject({ episodeUrl: '' });
    expect(upload(known, later, { syncId: syncId(1), episodeUrl: '' })).toEqual([100, 100]);
    expect(changedRow(known, 100)).toMatchObject(metadata(1));
  });

  it('finds the episode that matches surest, of equal ones the lowest row id', () => {
    const shared = { enclosureUrl: 'https://media.example/shared.mp3', episodeGuid: '' };
    expect(
      upload(world([stored(3), stored(1, shared), stored(2, shared)]), {
        ...metadata(9),
        ...shared,
      }),
    ).toEqual([1]);
  });

  it('replaces the metadata that was stored with what was sent', () => {
    const known = world([stored(1)]);
    const sent = metadata(2, { episodeGuid: 'episode-1' });
    expect(upload(known, sent)).toEqual([1]);
    expect(changedRow(known, 1)).toMatchObject({ ...sent, syncId: syncId(1), changed: now });
  });

  it('never finds an episode of another subscription', () => {
    expect(upload(world([stored(1, { subscriptionId: 20 })]), metadata(1))).toEqual([100]);
  });
});

describe('an entry with a sync_id', () => {
  it('needs no other identifiers when the sync_id is known', () => {
    const known = world([stored(1)]);
    expect(upload(known, { syncId: syncId(1), playedStatus: status(true, ten) })).toEqual([1]);
    expect(changedRow(known, 1)).toMatchObject({
      changed: now,
      statuses: { playedStatus: stands(true, ten) },
    });
  });

  it('finds by the sync_id before anything else', () => {
    const known = world([stored(1), stored(2)]);
    expect(upload(known, { syncId: syncId(2), enclosureUrl: metadata(1).enclosureUrl })).toEqual([
      2,
    ]);
  });

  it('finds by a sync_id that is an alias; the stored one stands', () => {
    const known = world([stored(1)], [[syncId(7), 1]]);
    expect(upload(known, { syncId: syncId(7), title: 'New' })).toEqual([1]);
    expect(changedRow(known, 1)).toMatchObject({ syncId: syncId(1), title: 'New' });
  });

  it('makes a different sync_id sent for the same episode an alias, which is no change of it', () => {
    const known = world([stored(1)]);
    expect(upload(known, { ...metadata(1), syncId: syncId(7) }, { syncId: syncId(7) })).toEqual([
      1, 1,
    ]);
    expect(known.changes()).toMatchObject({ rows: [], aliases: [[syncId(7), 1]] });
  });

  it("is refused when it names another subscription's episode", () => {
    const known = world([stored(1, { subscriptionId: 20 })]);
    const [message] = upload(known, { ...metadata(1), syncId: syncId(1) });
    expect(message).toBe('This sync_id belongs to an episode of another subscription');
    expect(known.changes().rows).toEqual([]);
  });

  it('merges the episode with the sync_id and another with the episode_guid: the one named by the sync_id lives on', () => {
    const known = world([
      stored(1, { statuses: { playedStatus: stands(true, ten), newStatus: stands(true, eleven) } }),
      stored(2, {
        statuses: { playedStatus: stands(false, eleven), newStatus: stands(false, ten) },
        episodeGuid: 'g',
      }),
    ]);
    expect(upload(known, { syncId: syncId(1), episodeGuid: 'g' }, { syncId: syncId(2) })).toEqual([
      1, 1,
    ]);
    expect(changedRow(known, 1)).toMatchObject({
      ...metadata(1, { episodeGuid: 'g' }),
      syncId: syncId(1),
      changed: now,
      statuses: { playedStatus: stands(false, eleven), newStatus: stands(true, eleven) },
    });
    expect(known.changes()).toMatchObject({
      absorbed: [{ from: 2, into: 1 }],
      aliases: [[syncId(2), 1]],
    });
  });
});

describe('beyond the quotas', () => {
  it('no episode is made and no alias kept, and what is there still changes', () => {
    const known = world([stored(1)], [], [], { episodes: 0, aliases: 0 });
    const [refused, changed] = upload(known, metadata(2), {
      ...metadata(1),
      syncId: syncId(9),
      title: 'New',
    });
    expect([refused, changed]).toEqual([expect.stringContaining('as many'), 1]);
    expect(known.changes()).toMatchObject({ rows: [{ id: 1, title: 'New' }], aliases: [] });
  });
});

describe('the subscription of an entry', () => {
  it('is named by any guid it ever had', () => {
    expect(upload(world([stored(1)]), { ...metadata(1), podcastGuid: formerly })).toEqual([1]);
  });

  it('must be a live one of the user', () => {
    const [message] = upload(world(), { ...metadata(1), podcastGuid: syncId(1) });
    expect(message).toBe('There is no subscription with this podcast_guid');
  });

  it('keeps equal episodes apart from those of another', () => {
    const known = world();
    expect(upload(known, metadata(1), { ...metadata(1), podcastGuid: elsewhere })).toEqual([
      100, 101,
    ]);
  });
});

describe('a batch', () => {
  it('lets each entry see the earlier ones', () => {
    const known = world();
    const entries = [
      { ...metadata(1), syncId: syncId(1) },
      metadata(1),
      { syncId: syncId(1), title: 'Last' },
    ];
    expect(upload(known, ...entries)).toEqual([100, 100, 100]);
    expect(known.changes().rows).toHaveLength(1);
    expect(changedRow(known, 100)).toMatchObject({ title: 'Last' });
  });

  it('never sinks by a bad entry', () => {
    const known = world();
    expect(upload(known, metadata(1), { episodeGuid: 5 }, metadata(2))).toEqual([
      100,
      'episode_guid is not a string',
      101,
    ]);
  });

  it('can swap the episode_guids of two episodes through a third, and says which rows must make way', () => {
    const known = world([stored(1), stored(2)]);
    const swap = [
      { syncId: syncId(1), episodeGuid: 'meanwhile' },
      { syncId: syncId(2), episodeGuid: 'episode-1' },
      { syncId: syncId(1), episodeGuid: 'episode-2' },
    ];
    expect(upload(known, ...swap)).toEqual([1, 2, 1]);
    expect([1, 2].map((id) => changedRow(known, id)?.episodeGuid)).toEqual([
      'episode-2',
      'episode-1',
    ]);
    expect(known.changes()).toMatchObject({ absorbed: [], renamed: [syncId(1), syncId(2)] });
  });

  it('merges two episodes that swap their episode_guids directly, as the first entry names both', () => {
    const known = world([stored(1), stored(2)]);
    const swap = [
      { syncId: syncId(1), episodeGuid: 'episode-2' },
      { syncId: syncId(2), episodeGuid: 'episode-1' },
    ];
    expect(upload(known, ...swap)).toEqual([1, 1]);
    expect(changedRow(known, 1)).toMatchObject({ episodeGuid: 'episode-1' });
    expect(known.changes().absorbed).toEqual([{ from: 2, into: 1 }]);
  });

  it('follows chains of merges to the one that stands, and takes all aliases along', () => {
    const known = world([stored(1), stored(2), stored(3)], [[syncId(8), 3]]);
    const chain = [
      { syncId: syncId(2), episodeGuid: 'episode-3' },
      { syncId: syncId(1), episodeGuid: 'episode-3' },
      { syncId: syncId(8), title: 'Last' },
    ];
    expect(upload(known, ...chain)).toEqual([1, 1, 1]);
    expect(changedRow(known, 1)).toMatchObject({ episodeGuid: 'episode-3', title: 'Last' });
    expect(known.changes().absorbed).toEqual([
      { from: 3, into: 1 },
      { from: 2, into: 1 },
    ]);
    expect(Object.fromEntries(known.changes().aliases)).toMatchObject({
      [syncId(2)]: 1,
      [syncId(3)]: 1,
    });
  });
});

describe('an entry that repeats the standing values', () => {
  const whole = stored(1, {
    statuses: { playedStatus: stands(true, ten), playbackPosition: stands(5, ten) },
  });

  it('is no change and writes nothing', () => {
    const known = world([whole]);
    const again = {
      playedStatus: status(true, '2026-02-01T10:00'),
      playbackPosition: status(5, ten),
    };
    expect(upload(known, { ...metadata(1), ...again, syncId: syncId(1) })).toEqual([1]);
    expect(known.changes()).toEqual(nothing);
  });

  it('gets no new stamp for a clamped time or for another second of the printed minute', () => {
    const known = world([whole]);
    const again = {
      playedStatus: status(true, '2999-01-01T00:00:00Z'),
      playbackPosition: status(5, '2026-02-01T10:00:59Z'),
    };
    upload(known, { ...again, syncId: syncId(1) });
    expect(changedRow(known, 1)?.changed ?? earlier).toBe(earlier);
  });

  it('is a change of the one status that differs', () => {
    const known = world([whole]);
    upload(known, {
      syncId: syncId(1),
      playedStatus: status(true, ten),
      playbackPosition: status(6, ten),
    });
    expect(changedRow(known, 1)).toMatchObject({
      changed: now,
      statuses: { playbackPosition: stands(6, ten) },
    });
  });

  it('is no change either when it comes with an earlier time', () => {
    const known = world([whole]);
    upload(known, { syncId: syncId(1), playedStatus: status(false, '2026-02-01T09:00:00Z') });
    expect(known.changes().rows).toEqual([]);
  });

  it('gets no new stamp for a batch that ends where it began', () => {
    const known = world([whole]);
    const there = { syncId: syncId(1), title: 'Meanwhile', playbackPosition: status(6, ten) };
    upload(known, there, { syncId: syncId(1), title: 'Title 1', playbackPosition: status(5, ten) });
    expect(changedRow(known, 1)?.changed ?? earlier).toBe(earlier);
  });

  it('does not erase what is known with what is empty or unknown', () => {
    const known = world([{ ...whole, duration: 90 }]);
    const unknown = { ...unknownMetadata, publishDate: '1970-01-01T01:00:00+01:00', duration: 0 };
    upload(known, { ...unknown, syncId: syncId(1) });
    expect(known.changes().rows).toEqual([]);
  });
});

describe('a duration', () => {
  it('is the last one sent, whatever times come with it', () => {
    const known = world([stored(1, { statuses: { playedStatus: stands(true, eleven) } })]);
    const sent = [90.5, 60].map((duration) => ({
      syncId: syncId(1),
      duration,
      playedStatus: status(false, ten),
    }));
    expect(upload(known, ...sent, { syncId: syncId(1) })).toEqual([1, 1, 1]);
    expect(changedRow(known, 1)).toMatchObject({
      duration: 60,
      statuses: { playedStatus: stands(true, eleven) },
    });
  });

  it('that differs is a change that is stamped, and the same one is none', () => {
    const known = world([stored(1, { duration: 60 }), stored(2, { duration: 60 })]);
    upload(known, { syncId: syncId(1), duration: 61 }, { syncId: syncId(2), duration: 60 });
    expect(known.changes().rows).toMatchObject([{ id: 1, changed: now, duration: 61 }]);
  });

  it('is no key by which episodes are found', () => {
    const known = world([stored(1, { duration: 60 })]);
    expect(upload(known, { episodeGuid: 'g', duration: 60 })).toEqual([100]);
  });
});

describe('an entry that brings what its row lacked', () => {
  const { enclosureUrl } = metadata(7);
  const named = stored(1, { ...unknownMetadata, episodeGuid: 'g' });
  const bare = (n: number, differing: Partial<EpisodeRow> = {}) =>
    stored(n, { ...unknownMetadata, enclosureUrl, ...differing });
  const both = { episodeGuid: 'g', enclosureUrl };

  it.each([
    ['by its episode_guid', both],
    ['by its sync_id', { syncId: syncId(1), enclosureUrl }],
  ])(
    'an enclosure_url to one found %s: the one without episode_guid that has it is the same',
    (_, sent) => {
      const known = world([
        {
          ...named,
          statuses: { playedStatus: stands(true, ten), newStatus: stands(true, eleven) },
        },
        bare(2, {
          title: 'Other',
          statuses: { playedStatus: stands(false, eleven), newStatus: stands(false, ten) },
        }),
      ]);
      expect(upload(known, sent, { syncId: syncId(2) }, { enclosureUrl })).toEqual([1, 1, 1]);
      expect(changedRow(known, 1)).toMatchObject({
        ...both,
        syncId: syncId(1),
        title: 'Other',
        changed: now,
        statuses: { playedStatus: stands(false, eleven), newStatus: stands(true, eleven) },
      });
      expect(known.changes()).toMatchObject({
        absorbed: [{ from: 2, into: 1 }],
        aliases: [[syncId(2), 1]],
      });
    },
  );

  it('lives on in the row found first, also where the other one is older', () => {
    const known = world([bare(1), { ...named, id: 2, syncId: syncId(2) }]);
    expect(upload(known, both)).toEqual([2]);
    expect(known.changes().absorbed).toEqual([{ from: 1, into: 2 }]);
  });

  it('is one with all that match by it', () => {
    const known = world([
      named,
      bare(2, { title: 'Two' }),
      bare(3, { title: 'Three', duration: 3 }),
    ]);
    expect(upload(known, both)).toEqual([1]);
    expect(known.changes().absorbed).toEqual([
      { from: 2, into: 1 },
      { from: 3, into: 1 },
    ]);
    expect(changedRow(known, 1)).toMatchObject({ title: 'Two', duration: 3 });
  });

  it('is one by its sync_id with the one of its episode_guid and the ones of its enclosure_url', () => {
    const known = world([named, stored(2), bare(3)]);
    const sent = { syncId: syncId(1), episodeGuid: metadata(2).episodeGuid, enclosureUrl };
    expect(upload(known, sent)).toEqual([1]);
    expect(changedRow(known, 1)).toMatchObject({ ...metadata(2), enclosureUrl });
    expect(known.changes()).toMatchObject({
      renamed: [syncId(1)],
      absorbed: [{ from: 2 }, { from: 3 }],
    });
  });

  it('finds the same one among what earlier entries of its batch made', () => {
    const known = world();
    const entries = [
      { episodeGuid: 'g', syncId: syncId(1) },
      { enclosureUrl },
      { syncId: syncId(1), enclosureUrl },
    ];
    expect(upload(known, ...entries)).toEqual([100, 100, 100]);
    expect(known.changes().rows).toMatchObject([both]);
    const again = world();
    expect(upload(again, { enclosureUrl, syncId: syncId(2) }, { episodeGuid: 'g' }, both)).toEqual([
      101, 101, 101,
    ]);
    expect(Object.fromEntries(again.changes().aliases)).toEqual({ [syncId(2)]: 101 });
  });

  it('is another than one with an episode_guid of its own, and than those of other subscriptions', () => {
    const known = world([named, stored(2, { enclosureUrl }), bare(3, { subscriptionId: 20 })]);
    expect(upload(known, both)).toEqual([1]);
    expect(known.changes().absorbed).toEqual([]);
  });

  it('is no other where its row had an enclosure_url already', () => {
    const known = world([stored(1), bare(2)]);
    expect(upload(known, { syncId: syncId(1), enclosureUrl })).toEqual([1]);
    expect(known.changes()).toMatchObject({ absorbed: [], rows: [{ id: 1, enclosureUrl }] });
  });
});

describe('two episodes that are one', () => {
  it('have the metadata of the one that lives on, completed by the other', () => {
    const [lacking, other] = [
      { ...unknownMetadata, enclosureUrl: metadata(1).enclosureUrl },
      { ...metadata(2), duration: 9 },
    ];
    const known = world([stored(1, lacking), stored(2, other)]);
    upload(known, { syncId: syncId(1), episodeGuid: metadata(2).episodeGuid });
    expect(changedRow(known, 1)).toMatchObject({ ...other, enclosureUrl: lacking.enclosureUrl });
    const full = world([stored(1, { duration: 5 }), stored(2, other)]);
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
    const known = world();
    expect(upload(known, { enclosureUrl: first }, { enclosureUrl: second })).toEqual([100, 100]);
    expect(changedRow(known, 100)).toMatchObject({ enclosureUrl: first });
  });

  it.each(pairs)('change nothing of a stored episode: %s, %s', (first, second) => {
    const known = world([stored(1, { enclosureUrl: first })]);
    expect(upload(known, { ...metadata(1), enclosureUrl: second })).toEqual([1]);
    expect(known.changes()).toEqual(nothing);
  });

  it.each(inBothOrders(differentUrls))('are not %s and %s', (first, second) => {
    expect(upload(world(), { enclosureUrl: first }, { enclosureUrl: second })).toEqual([100, 101]);
  });
});
