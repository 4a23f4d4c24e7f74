import { describe, expect, it } from 'vitest';
import { deletionTime, updateSchema } from './wire.schemas.js';

const feedUrl = 'https://podnews.net/rss';
const guid = '9b024349-ccf0-5f69-a609-6b82873eab3c';

describe('the body of PATCH /subscriptions/{guid}', () => {
  it('is parsed to its known fields: a trimmed URL and a lower-case guid', () => {
    const sent = {
      new_feed_url: `\t${feedUrl} `,
      new_guid: guid.toUpperCase(),
      is_subscribed: false,
      color: 'red',
    };
    expect(updateSchema.parse(sent)).toEqual({
      new_feed_url: feedUrl,
      new_guid: guid,
      is_subscribed: false,
    });
  });

  it.each([
    { is_subscribed: false, new_feed_url: null, new_guid: null, timestamp: null },
    { is_subscribed: null, new_feed_url: feedUrl, new_guid: null },
    { new_guid: guid, feed_url: 'x' },
    { is_subscribed: true, timestamp: '2026-01-15T12:11:00+02:00' },
    { title: 'A' },
    { title: '', new_guid: null },
  ])('accepts null for absent fields, and unknown fields: %j', (sent) =>
    expect(updateSchema.safeParse(sent).success).toBe(true),
  );

  it.each([
    {},
    [],
    'is_subscribed',
    null,
    { feed_url: feedUrl, guid },
    { timestamp: '2026-01-15T10:00:00Z' },
    { is_subscribed: null, new_feed_url: null, new_guid: null, title: null },
  ])('needs a known field: %j', (sent) => expect(updateSchema.safeParse(sent).success).toBe(false));

  it.each([
    { is_subscribed: 'true' },
    { is_subscribed: 1 },
    { new_feed_url: '' },
    { new_feed_url: 'a.example/feed' },
    { new_feed_url: 'ftp://a.example/feed' },
    { new_feed_url: `https://feeds.example/${'x'.repeat(4_075)}` },
    { new_feed_url: 'https://a.example/\0' },
    { new_feed_url: 'https://a.example/\ta' },
    { new_feed_url: 'https://a.example/a\nb' },
    { new_feed_url: 'https://a.example/\ud800' },
    { new_guid: 'x' },
    { new_guid: 7 },
    { title: 7 },
    ...['', 'yesterday', '2026-01-15', '2026-01-15T10:00', 5, [], true].map((timestamp) => ({
      timestamp,
    })),
  ])('rejects an invalid field among valid ones: %j', (bad) => {
    const good = { is_subscribed: false, new_feed_url: feedUrl, new_guid: guid };
    expect(updateSchema.safeParse(good).success).toBe(true);
    expect(updateSchema.safeParse({ ...good, ...bad }).success).toBe(false);
  });
});

describe('the timestamp of DELETE /subscriptions/{guid}', () => {
  it('is read from the query, with any offset, even with + as a space', () => {
    expect(deletionTime('/')).toBeUndefined();
    expect(deletionTime('/?x=1')).toBeUndefined();
    expect(deletionTime('/?timestamp=2026-01-15T12:11:00%2B02:00')).toBe(
      '2026-01-15T12:11:00+02:00',
    );
    expect(deletionTime('/?timestamp=2026-01-15T12:11:00+02:00')).toBe('2026-01-15T12:11:00 02:00');
  });

  it.each([
    '',
    'yesterday',
    '2026-01-15',
    '2026-01-15T10:00',
    '5',
    'true',
    '2026-01-15T10:00:00Z&timestamp=2026-01-15T10:00:00Z',
  ])('is rejected if it is no time or sent several times: %s', (sent) =>
    expect(() => deletionTime(`/?timestamp=${sent}`)).toThrowError('invalid'),
  );
});
