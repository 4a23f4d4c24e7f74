import { describe, expect, it } from 'vitest';
import {
  changedRow,
  earlier,
  elsewhere,
  formerly,
  metadata,
  now,
  stored,
  syncId,
  upload,
  world,
} from '../testing/known.world.js';

const status = (value: boolean | number, timestamp: string) => ({ value, timestamp });
const [ten, eleven] = ['2026-02-01T10:00:00Z', '2026-02-01T11:00:00Z'] as const;
const stands = (value: boolean | number, at: string) => ({ value, at: at.replace('Z', '.000000Z'), minuteForm: false });

describe('an entry without a known sync_id', () => {
  it('creates an episode under a new sync_id', () => {
    const known = world();
    expect(upload(known, metadata(1))).toEqual([100]);
    expect(changedRow(known, 100)).toMatchObject({ ...metadata(1), subscriptionId: 10, changed: now });
    expect(changedRow(known, 100)?.syncId).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  });

  it('creates an episode under the sync_id that the client supplies', () => {
    const known = world();
    expect(upload(known, { ...metadata(1), syncId: syncId(1) })).toEqual([100]);
    expect(changedRow(known, 100)).toMatchObject({ syncId: syncId(1) });
  });

  it('creates an episode with an empty episode_guid and title', () => {
    expect(upload(world(), metadata(1, { episodeGuid: '', title: '' }))).toEqual([100]);
  });

  it.each([
    ['episodeGuid', 'episode_guid'],
    ['title', 'title'],
    ['publishDate', 'publish_date'],
    ['enclosureUrl', 'enclosure_url'],
  ])('is refused without %s, even when the rest would find the episode', (field, name) => {
    const known = world([stored(1)]);
    const [message] = upload(known, { ...metadata(1), [field]: undefined, syncId: syncId(9) });
    expect(message).toBe(`${name} missing: without a known sync_id all are needed`);
    expect(known.changes()).toMatchObject({ rows: [], aliases: [] });
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
    expect(upload(world([stored(3), stored(1, shared), stored(2, shared)]), { ...metadata(9), ...shared })).toEqual([
      1,
    ]);
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
    expect(changedRow(known, 1)).toMatchObject({ changed: now, statuses: { playedStatus: stands(true, ten) } });
  });

  it('finds by the sync_id before anything else', () => {
    const known = world([stored(1), stored(2)]);
    expect(upload(known, { syncId: syncId(2), enclosureUrl: metadata(1).enclosureUrl })).toEqual([2]);
  });

  it('finds by a sync_id that is an alias; the stored one stands', () => {
    const known = world([stored(1)], [[syncId(7), 1]]);
    expect(upload(known, { syncId: syncId(7), title: 'New' })).toEqual([1]);
    expect(changedRow(known, 1)).toMatchObject({ syncId: syncId(1), title: 'New' });
  });

  it('makes a different sync_id sent for the same episode an alias, which is no change of it', () => {
    const known = world([stored(1)]);
    expect(upload(known, { ...metadata(1), syncId: syncId(7) }, { syncId: syncId(7) })).toEqual([1, 1]);
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
      stored(2, { statuses: { playedStatus: stands(false, eleven), newStatus: stands(false, ten) }, episodeGuid: 'g' }),
    ]);
    expect(upload(known, { syncId: syncId(1), episodeGuid: 'g' }, { syncId: syncId(2) })).toEqual([1, 1]);
    expect(changedRow(known, 1)).toMatchObject({
      ...metadata(1, { episodeGuid: 'g' }),
      syncId: syncId(1),
      changed: now,
      statuses: { playedStatus: stands(false, eleven), newStatus: stands(true, eleven) },
    });
    expect(known.changes()).toMatchObject({ absorbed: [{ from: 2, into: 1 }], aliases: [[syncId(2), 1]] });
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
    expect(upload(known, metadata(1), { ...metadata(1), podcastGuid: elsewhere })).toEqual([100, 101]);
  });
});

describe('a batch', () => {
  it('lets each entry see the earlier ones', () => {
    const known = world();
    const entries = [{ ...metadata(1), syncId: syncId(1) }, metadata(1), { syncId: syncId(1), title: 'Last' }];
    expect(upload(known, ...entries)).toEqual([100, 100, 100]);
    expect(known.changes().rows).toHaveLength(1);
    expect(changedRow(known, 100)).toMatchObject({ title: 'Last' });
  });

  it('never sinks by a bad entry', () => {
    const known = world();
    expect(upload(known, metadata(1), { title: 5 }, metadata(2))).toEqual([100, 'title is not a string', 101]);
  });

  it('can swap the episode_guids of two episodes through a third, and says which rows must make way', () => {
    const known = world([stored(1), stored(2)]);
    const swap = [
      { syncId: syncId(1), episodeGuid: 'meanwhile' },
      { syncId: syncId(2), episodeGuid: 'episode-1' },
      { syncId: syncId(1), episodeGuid: 'episode-2' },
    ];
    expect(upload(known, ...swap)).toEqual([1, 2, 1]);
    expect([1, 2].map((id) => changedRow(known, id)?.episodeGuid)).toEqual(['episode-2', 'episode-1']);
    expect(known.changes()).toMatchObject({ absorbed: [], renamed: [1, 2] });
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
    expect(Object.fromEntries(known.changes().aliases)).toMatchObject({ [syncId(2)]: 1, [syncId(3)]: 1 });
  });
});

describe('an entry that repeats the standing values', () => {
  const whole = stored(1, { statuses: { playedStatus: stands(true, ten), playbackPosition: stands(5, ten) } });

  it('is no change and writes nothing', () => {
    const known = world([whole]);
    const again = { playedStatus: status(true, '2026-02-01T10:00'), playbackPosition: status(5, ten) };
    expect(upload(known, { ...metadata(1), ...again, syncId: syncId(1) })).toEqual([1]);
    expect(known.changes()).toEqual({ rows: [], renamed: [], aliases: [], addedAliases: 0, absorbed: [] });
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
    upload(known, { syncId: syncId(1), playedStatus: status(true, ten), playbackPosition: status(6, ten) });
    expect(changedRow(known, 1)).toMatchObject({ changed: now, statuses: { playbackPosition: stands(6, ten) } });
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

  it('does not erase an episode_guid or title that is there with an empty one', () => {
    const known = world([whole]);
    upload(known, { syncId: syncId(1), episodeGuid: '', title: '' });
    expect(known.changes().rows).toEqual([]);
  });
});
