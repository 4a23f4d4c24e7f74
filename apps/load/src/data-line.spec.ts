import { describe, expect, it } from 'vitest';
import { readLine } from './data-line.js';

const of = (line: object) => readLine(JSON.stringify(line));

describe('a line', () => {
  it('of an episode becomes an entry with only the fields of an upload', () => {
    const episode = {
      podcast_guid: 'g',
      other: 1,
      temporary_id: 't',
      played_status: { value: false, timestamp: 'x' },
      duration: 'kept for the service to judge',
    };
    expect(of({ episode })).toEqual({
      kind: 'episode',
      entry: {
        podcast_guid: 'g',
        played_status: { value: false, timestamp: 'x' },
        duration: 'kept for the service to judge',
      },
    });
  });

  it('of a subscription becomes an entry; it is subscribed by default, without null', () => {
    const subscription = { feed_url: ' https://a.example/f ', guid: null, title: 'A', other: 1 };
    expect(of({ subscription })).toEqual({
      kind: 'subscription',
      entry: {
        feed_url: 'https://a.example/f',
        guid: undefined,
        isSubscribed: true,
        timestamp: undefined,
        title: 'A',
      },
    });
  });

  it('of a subscription with a title of another type has none, as in the API', () => {
    const line = of({ subscription: { feed_url: 'https://a.example/f', title: 5 } });
    expect(line).toMatchObject({
      kind: 'subscription',
      entry: { feed_url: 'https://a.example/f' },
    });
    expect(line).not.toHaveProperty('entry.title', expect.anything());
  });

  it.each([
    'x',
    '1',
    'null',
    '[]',
    '{}',
    '{"episode":[]}',
    '{"episode":1}',
    '{"subscription":{}}',
    '{"subscription":{"feed_url":"x","is_subscribed":"yes"}}',
    '{"subscription":{"feed_url":"x","timestamp":"yesterday"}}',
  ])('that cannot be read is unusable: %s', (text) =>
    expect(readLine(text)).toMatchObject({ kind: 'unusable' }),
  );

  it('of a user has the user, or undefined for an invalid one', () => {
    expect(of({ user: { issuer: 'i', subject: 's' } })).toEqual({
      kind: 'user',
      user: { issuer: 'i', subject: 's' },
    });
    const unclear = { issuer: 'i', subject: '\ud800' };
    for (const user of [{ issuer: 'i' }, { issuer: '', subject: 's' }, { id: 'x' }, unclear])
      expect(of({ user })).toEqual({ kind: 'user', user: undefined });
  });
});
