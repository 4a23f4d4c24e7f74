import { describe, expect, it } from 'vitest';
import { fromWire, toWire } from './wire.js';

describe('toWire', () => {
  it('writes names in snake case at every depth and leaves values alone', () => {
    const reply = {
      feedUrl: 'aB',
      items: [{ newGuid: 'X', playedStatus: { value: false, timestamp: 't' } }],
      total: 0,
    };
    expect(toWire(reply)).toEqual({
      feed_url: 'aB',
      items: [{ new_guid: 'X', played_status: { value: false, timestamp: 't' } }],
      total: 0,
    });
  });

  it('leaves out what is not there: no null is ever sent', () => {
    expect(JSON.stringify(toWire({ feedUrl: 'u', newGuid: undefined }))).toBe('{"feed_url":"u"}');
  });
});

describe('fromWire', () => {
  it('takes the known fields under their names inside, and nothing that is inherited', () => {
    const sent = Object.assign(Object.create({ title: 'inherited' }) as object, { podcast_guid: null, extra: 1 });
    expect(fromWire(sent, { podcast_guid: 'podcastGuid', title: 'title' })).toEqual({ podcastGuid: null });
  });
});
