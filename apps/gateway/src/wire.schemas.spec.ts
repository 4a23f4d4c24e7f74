import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { episodeEntries, subscriptionEntries } from './wire.schemas.js';

const feedUrl = 'https://podnews.net/rss';

/** How deep a value is nested. */
function depth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depth));
}

function raise(message: string): never {
  throw new Error(message);
}

describe('a batch', () => {
  it.each([subscriptionEntries, episodeEntries])('of too many entries is refused before one is read', (entries) => {
    const unreadable = new Proxy([0, 0, 0], {
      get: (array, key) => (key === 'length' ? array.length : raise('read an entry')),
    });
    expect(() => entries(unreadable, 2)).toThrowError('invalid');
  });
});

describe('an entry of POST /subscriptions', () => {
  it('leaves with its URL and its guid', () => {
    expect(subscriptionEntries([{ feed_url: feedUrl, guid: 'x', more: [1] }], 9)).toEqual([{ feedUrl, guid: 'x' }]);
  });

  it.each([undefined, null])('has no guid where that is %s', (guid) => {
    expect(subscriptionEntries([{ feed_url: feedUrl, guid }], 9)).toEqual([{ feedUrl }]);
  });

  it.each([7, true, {}, [feedUrl]])('has a guid that is none where that is %j', (guid) => {
    expect(subscriptionEntries([{ feed_url: feedUrl, guid }], 9)).toEqual([{ feedUrl, guid: '' }]);
  });

  it.each([0, null, 'x', [], {}, { feed_url: null }, { feed_url: 7 }])(
    'without a URL to answer with makes the whole request invalid: %j',
    (entry) => {
      expect(() => subscriptionEntries([{ feed_url: feedUrl }, entry], 9)).toThrowError('invalid');
    },
  );
});

describe('an entry of POST /episodes', () => {
  it('leaves with the names inside, statuses as value and time', () => {
    const sent = {
      podcast_guid: 'p',
      title: 'One',
      temporary_id: 7,
      played_status: { value: true, timestamp: '2026-01-01T00:00', by: 'me' },
      more: 'of it',
    };
    expect(episodeEntries([sent], 9)).toEqual([
      { podcastGuid: 'p', title: 'One', temporaryId: 7, playedStatus: { value: true, timestamp: '2026-01-01T00:00' } },
    ]);
  });

  it('counts null as not sent, and a status without a value', () => {
    const sent = { title: null, sync_id: undefined, played_status: null, new_status: { value: null, timestamp: 'x' } };
    expect(episodeEntries([sent], 9)).toEqual([{}]);
  });

  it.each([0, null, 'x', true, []])('that is no object is passed on as one that is not there: %j', (entry) => {
    expect(episodeEntries([entry], 9)).toEqual([null]);
  });

  it('has a structure no deeper than the contract, whatever was sent', () => {
    const names = ['podcast_guid', 'title', 'temporary_id', 'played_status', 'playback_position', 'value', 'timestamp'];
    const entry = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 6 }));
    fc.assert(
      fc.property(entry, (sent) => {
        const [entered] = episodeEntries([sent], 9);
        expect(depth(entered)).toBeLessThanOrEqual(3);
        expect(JSON.stringify(entered).length).toBeLessThanOrEqual(JSON.stringify(sent).length + 200);
      }),
    );
  });
});
