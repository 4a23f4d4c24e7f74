import { describe, expect, it } from 'vitest';
import { podcastGuid } from '#contracts';
import { type Action, applyActions, validateAction, movedFeeds } from './action.rules.js';
import type { Upload } from './upload.rules.js';
import { EpisodeSet } from './episode-set.js';
import { hasTooManyCandidates } from './upload.rules.js';
import { now, stored } from '../testing/episode-set.fixture.js';

const feedUrl = 'https://podcast.example/feed';
const good: Action = {
  feedUrl,
  episodeGuid: 'guid',
  enclosureUrl: 'https://media.example/1.mp3',
  statuses: {},
};

/** Returns a set with all episodes of subscription 10, as read for actions on its feed. */
const episodeSetOf = (...episodes: Parameters<typeof stored>[]) =>
  new EpisodeSet(
    {
      reach: 'all',
      subscriptions: [[feedUrl, { id: 10, currentGuid: podcastGuid(feedUrl) }]],
      episodes: episodes.map((one) => stored(...one)),
      aliases: [],
      incomplete: [],
      newIds: [100, 101, 102],
      remaining: { episodes: 10, aliases: 10 },
    },
    now,
    Date.parse(now),
  );

describe('validateAction', () => {
  it('converts an action to an upload; a status without a time gets the latest time', () => {
    const statuses = {
      playbackPosition: { value: 7.5, at: '2026-01-01T12:00:07+02:00' },
      newStatus: { value: false },
    };
    expect(validateAction({ ...good, duration: 60, statuses })).toEqual({
      podcast: feedUrl,
      metadata: { episodeGuid: 'guid', enclosureUrl: good.enclosureUrl, duration: 60 },
      statuses: {
        playbackPosition: { value: 7.5, at: '2026-01-01T10:00:07.000000Z', minuteForm: false },
        newStatus: { value: false, at: '9999-12-31T23:59:59.000000Z', minuteForm: false },
      },
      rawEntry: {},
    });
  });

  it.each<[Partial<Action>, string]>([
    [{ feedUrl: 'podcast.example/feed' }, 'invalid_url'],
    [{ feedUrl: 'antennapod_local:content' }, 'invalid_url'],
    [{ feedUrl: `${feedUrl}\0` }, 'invalid_url'],
    [{ enclosureUrl: 'file:///1.mp3' }, 'invalid_url'],
    [{ episodeGuid: '\0' }, 'invalid_value'],
    [{ episodeGuid: '\ud800' }, 'invalid_value'],
    [{ episodeGuid: 'x'.repeat(2_049) }, 'invalid_value'],
    [{ statuses: { playedStatus: { value: true, at: '2026-02-30T00:00:00Z' } } }, 'invalid_value'],
  ])('rejects the same values as the main API: %j', (differing, code) => {
    expect(validateAction({ ...good, ...differing })).toMatchObject({ code });
  });
});

describe('applyActions', () => {
  const apply = async (episodes: EpisodeSet, ...actions: Partial<Action>[]) => {
    const judged = actions.map((action) => validateAction({ ...good, ...action }));
    const outcomes = await applyActions(episodes, judged as Upload[]);
    return outcomes.map((outcome) => ('code' in outcome ? outcome.code : null));
  };

  it('applies actions in order and returns the outcome of each', async () => {
    const episodes = episodeSetOf();
    const at = (minute: number) => `2026-01-01T10:0${minute}:00Z`;
    const position = (value: number, minute: number) => ({
      statuses: { playbackPosition: { value, at: at(minute) } },
    });
    const verdicts = await apply(
      episodes,
      position(1, 1),
      position(3, 3),
      position(2, 2),
      { feedUrl: 'https://unknown.example/feed' },
      { episodeGuid: undefined, enclosureUrl: undefined },
    );
    expect(verdicts).toEqual([null, null, null, 'unknown_subscription', 'missing_identifier']);
    expect(episodes.changes().rows).toMatchObject([
      { id: 100, statuses: { playbackPosition: { value: 3 } } },
    ]);
  });

  it('distinguishes failures due to unread episodes from permanent ones', async () => {
    const full = new EpisodeSet(
      {
        reach: 'all',
        subscriptions: [[feedUrl, { id: 10, currentGuid: podcastGuid(feedUrl) }]],
        episodes: [],
        aliases: [],
        incomplete: [[0, 1, 7]],
        newIds: [100, 101],
        remaining: { episodes: 0, aliases: 0 },
      },
      now,
      Date.parse(now),
    );
    const actions = [good, { ...good, episodeGuid: 'another' }].map(validateAction) as Upload[];
    const outcomes = await applyActions(full, actions);
    expect(outcomes.map((outcome) => 'code' in outcome && hasTooManyCandidates(outcome))).toEqual([
      true,
      false,
    ]);
  });

  it('counts a status without a time as set at the arrival, if its value differs', async () => {
    const current = {
      playedStatus: { value: true, at: '2026-01-01T00:00:00.000000Z', minuteForm: false },
    };
    const episodes = episodeSetOf([
      1,
      { episodeGuid: 'guid', enclosureUrl: good.enclosureUrl, statuses: current },
    ]);
    await apply(episodes, { statuses: { playedStatus: { value: true } } });
    expect(episodes.changes().rows).toEqual([]);
    await apply(episodes, { statuses: { playedStatus: { value: false } } });
    expect(episodes.changes().rows).toMatchObject([
      { id: 1, statuses: { playedStatus: { value: false, at: '2026-02-02T12:00:00.000000Z' } } },
    ]);
  });
});

describe('movedFeeds', () => {
  it.each([
    ['https://old.example/feed', true],
    [feedUrl, false],
    ['http://podcast.example/feed//', false],
    ['https://podcast.example/Feed', true],
  ])('reports URLs that differ in more than scheme and trailing slashes: %s', (sent, isMoved) => {
    expect(movedFeeds([{ feedUrl: sent, currentUrl: feedUrl }])).toEqual(
      isMoved ? [[sent, feedUrl]] : [],
    );
  });
});
