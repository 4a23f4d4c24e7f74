import { describe, expect, it } from 'vitest';
import { fromWire } from './wire.js';

describe('fromWire', () => {
  it('takes the known fields under their names inside, and nothing that is inherited', () => {
    const sent = Object.assign(Object.create({ title: 'inherited' }) as object, { podcast_guid: null, extra: 1 });
    expect(fromWire(sent, { podcast_guid: 'podcastGuid', title: 'title' })).toEqual({ podcastGuid: null });
  });
});
