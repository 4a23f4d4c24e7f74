import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure, type JsonText, type UploadAnswer } from '#contracts';
import { metadata, podcast, stored, syncId, episodeSet } from '../testing/episode-set.fixture.js';
import { type Entry, sentEntry } from '../testing/sent-entry.js';
import { AnswerBudget } from './answer-budget.js';
import { applyUploads, validateEntry } from './upload.rules.js';

/** Texts whose numbers of characters and of bytes as JSON differ widely. */
const text = fc
  .tuple(
    fc.constantFrom('x', '"', 'ä', '\u0001', '\u2028', '\ud800'),
    fc.integer({ min: 1, max: 300 }),
  )
  .map(([unit, count]) => unit.repeat(count));
const number = fc.integer({ min: 1, max: 3 });
const entry = fc
  .record(
    {
      sync: number,
      like: number,
      episodeGuid: fc.oneof(fc.constantFrom('', 'episode-1', 'episode-2'), text),
      title: text,
      enclosureUrl: fc.constantFrom('', 'https://media.example/1.mp3'),
      duration: fc.double({ noNaN: true }),
      temporaryId: fc.oneof(text, fc.integer()),
      playbackPosition: fc.constant({ value: 1e-7, timestamp: '2026-02-01T10:00:00Z' }),
      publishDate: fc.constantFrom('never', '2025-01-01T00:00:00Z'),
    },
    { requiredKeys: ['like'] },
  )
  .map(({ sync, like, ...rest }) => ({
    podcastGuid: podcast,
    ...metadata(like),
    ...rest,
    ...(sync && { syncId: syncId(sync) }),
  }));

async function answer(entries: (Entry | null)[], maxBytes: number) {
  const episodes = episodeSet([stored(1), stored(2), stored(3)]);
  const judged = entries.map((each) => validateEntry(sentEntry(each)));
  const answered = (await applyUploads(
    episodes,
    judged,
    new AnswerBudget(maxBytes, judged),
  )) as JsonText<UploadAnswer>;
  return {
    verdicts: answered.parse(),
    changes: episodes.changes(),
    bytes: Buffer.byteLength(answered.text),
  };
}

describe('an answer', () => {
  it('never exceeds its maximum bytes and has a result for every entry', async () => {
    const some = fc.array(
      fc.oneof({ weight: 9, arbitrary: entry }, { weight: 1, arbitrary: fc.constant(null) }),
      {
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(some, fc.integer({ min: 0, max: 20_000 }), async (entries, more) => {
        const least = entries.length * 2_500 + 100;
        const { verdicts, bytes } = await answer(entries, least + more);
        expect(bytes).toBeLessThanOrEqual(least + more);
        expect(verdicts.success.length + verdicts.failure.length).toBe(entries.length);
      }),
      { numRuns: process.env.TEST_FULL ? 5_000 : 500 },
    );
  });

  it('rejects entries above the budget with `limit_reached` and applies none of them', async () => {
    const large = [1, 2, 3].map((n) => ({
      podcastGuid: podcast,
      syncId: syncId(n),
      title: 'x'.repeat(2_000),
      temporaryId: n,
    }));
    const { verdicts, changes } = await answer(large, 5_500);
    expect(verdicts.success).toHaveLength(2);
    expect(verdicts.failure).toMatchObject([{ code: 'limit_reached', temporary_id: 3 }]);
    expect(changes.rows.map(({ id }) => id)).toEqual([1, 2]);
  });

  it('counts an episode as often as the answer shows it, with its final size', async () => {
    const name = { podcastGuid: podcast, syncId: syncId(1) };
    const grows = [...Array.from({ length: 9 }, () => name), { ...name, title: 'x'.repeat(2_000) }];
    const { verdicts, bytes } = await answer(grows, 8_000);
    expect([verdicts.success.length, verdicts.failure.length]).toEqual([9, 1]);
    expect(bytes).toBeLessThan(8_000);
  });

  it('omits identifiers except the temporary_id if they exceed the budget', async () => {
    const wrong = {
      podcastGuid: 'x'.repeat(255),
      episodeGuid: 'x'.repeat(2_000),
      temporaryId: 'mine',
    };
    const { verdicts } = await answer([wrong], 300);
    expect(verdicts.failure).toEqual([
      { temporary_id: 'mine', code: 'invalid_guid', message: 'podcast_guid is not a valid UUID' },
    ]);
  });

  it('fails as a whole if the shortest failures of all entries exceed the budget', async () => {
    await expect(answer([null, null], 300)).rejects.toThrow(new Failure('invalid'));
  });
});

describe('an entry whose outcome depends on unread rows', () => {
  const unread = async (
    rank: 0 | 1 | 2 | 3 | 4,
    to: number,
    entries: object[],
    row = stored(5, { episodeGuid: '' }),
  ) => {
    const judged = entries.map((sent) =>
      validateEntry(sentEntry({ podcastGuid: podcast, ...sent })),
    );
    const episodes = episodeSet([row], [], [[0, rank, to]]);
    const verdicts = await applyUploads(episodes, judged, new AnswerBudget(1_000_000, judged));
    return verdicts?.parse().failure.map(({ code }) => code);
  };

  it.each([0, 1, 2, 3, 4] as const)('fails if unread rows can match at rank %d', async (rank) => {
    expect(await unread(rank, 0, [{ ...metadata(9), syncId: syncId(9) }])).toEqual([
      'limit_reached',
    ]);
  });

  it('succeeds if a row that was read takes precedence over the unread rows', async () => {
    expect(await unread(2, 5, [metadata(5)])).toEqual([]);
    expect(await unread(2, 4, [metadata(5)])).toEqual(['limit_reached']);
    expect(await unread(3, 0, [metadata(5)])).toEqual([]);
  });

  it('does not prevent the other entries of its batch', async () => {
    expect(await unread(2, 0, [metadata(9), metadata(8)])).toEqual(['limit_reached']);
  });

  it('fails if its row has no enclosure_url and an unread row can have the sent one', async () => {
    const lacking = stored(5, { enclosureUrl: '' });
    const completing = { syncId: syncId(5), enclosureUrl: metadata(9).enclosureUrl };
    expect(await unread(2, 8, [completing], lacking)).toEqual(['limit_reached']);
    expect(
      await unread(2, 8, [{ ...completing, syncId: undefined, episodeGuid: 'episode-5' }], lacking),
    ).toEqual(['limit_reached']);
    expect(await unread(3, 8, [completing], lacking)).toEqual([]);
    expect(await unread(2, 8, [completing])).toEqual([]);
  });

  it('fails by sync_id if an unread row can have the episode_guid', async () => {
    const named = { syncId: syncId(5), episodeGuid: 'g' };
    expect(await unread(1, 0, [named])).toEqual(['limit_reached']);
    expect(await unread(2, 0, [named])).toEqual([]);
  });
});
