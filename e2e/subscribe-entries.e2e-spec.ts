import { describe, expect, test } from 'vitest';
import { guidForm } from './http.js';
import type { SubscribeAnswer } from './interface.js';
import { feed, newGuid } from './samples.js';
import { User } from './user.js';

const urlA = feed('a');

async function post(ann: User, ...subscriptions: unknown[]): Promise<SubscribeAnswer> {
  return (await ann.post<SubscribeAnswer>('/subscriptions', { subscriptions })).body;
}

async function failure(entry: object): Promise<string | undefined> {
  const { success, failure: failures } = await post(await User.fresh(), entry);
  expect([success, failures.length]).toEqual([[], 1]);
  return failures[0]?.message;
}

describe('a feed_url', () => {
  test.each(['feeds.example/a', '//feeds.example/a', '/a', '', 'feeds.example:8080/a', 'a'])(
    'without a scheme fails with "No protocol present": %j',
    async (feed_url) => expect(await failure({ feed_url })).toBe('No protocol present'),
  );

  test.each([
    'ftp://feeds.example/a',
    'mailto:ann@feeds.example',
    'http://',
    'https:///a',
    'http:feeds.example',
    'https://feeds.example/a b',
    'https://feeds.example/\na',
    'https://feeds.example/\ta',
    'https://feeds.example/\u0000',
    'https://feeds.example/\ud800',
    'https://feeds.example:99999/',
    `https://feeds.example/${'x'.repeat(4_075)}`,
  ])('that is no absolute http or https URL with a host fails with a reason: %j', async (feed_url) => {
    expect(await failure({ feed_url })).toMatch(/^(?!No protocol)\S.{5,}/);
  });

  test('loses the white space around it', async () => {
    const ann = await User.fresh();
    const [made] = await ann.subscribe(` ${urlA}\n`);
    expect(made?.feed_url).toBe(urlA);
    expect(await ann.subscribed(urlA)).toBe(made?.guid);
    const moved = await ann.patch(`/subscriptions/${made?.guid}`, { new_feed_url: `\t${feed('b')} ` });
    expect(moved.body).toMatchObject({ new_feed_url: feed('b') });
  });

  test('in failure is echoed as it was sent', async () => {
    const { failure: failures } = await post(await User.fresh(), { feed_url: ' Nonsense\u0000 ☂' });
    expect(failures).toMatchObject([{ feed_url: ' Nonsense\u0000 ☂' }]);
  });

  test.each([
    'HTTPS://Feeds.Example/A',
    'https://feeds.example',
    'https://feeds.example/%7Eann/%zz?q=a+b&&#part',
    'https://feeds.example/☂/ä',
    'http://ann:secret@feeds.example:8080/',
    'https://feeds.example/../a',
    `https://feeds.example/${'x'.repeat(4_074)}`,
  ])('is kept exactly as sent: %s', async (feed_url) => {
    const ann = await User.fresh();
    const [made] = await ann.subscribe(feed_url);
    expect(made?.feed_url).toBe(feed_url);
    expect((await ann.subscription(made?.guid ?? '')).feed_url).toBe(feed_url);
  });
});

describe('a guid', () => {
  test('that is not sent is the podcast namespace guid of the URL', async () => {
    const ann = await User.fresh();
    expect(await ann.subscribed('https://podnews.net/rss')).toBe('9b024349-ccf0-5f69-a609-6b82873eab3c');
  });

  test('is derived from the URL without scheme and without trailing slashes', async () => {
    const spellings = ['http://podnews.net/rss', 'HTTPS://podnews.net/rss/', 'https://podnews.net/rss///'];
    for (const url of spellings) {
      expect(await (await User.fresh()).subscribed(url)).toBe('9b024349-ccf0-5f69-a609-6b82873eab3c');
    }
  });

  test('that is sent is authoritative', async () => {
    const ann = await User.fresh();
    const guid = newGuid();
    expect(await ann.subscribed('https://podnews.net/rss', guid)).toBe(guid);
    expect(await ann.subscription(guid)).toMatchObject({ guid });
  });

  test.each([
    'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6',
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '0190163d-8694-739b-aea5-966c26f8ad91',
    '12345678-1234-F234-0234-123456789abc',
  ])('of any version is accepted in any case and printed in lower case: %s', async (guid) => {
    const ann = await User.fresh();
    const made = await ann.subscribed(urlA, guid);
    expect(made).toBe(guid.toLowerCase());
    expect(made).toMatch(guidForm);
    expect((await ann.subscription(guid)).guid).toBe(guid.toLowerCase());
  });

  test('that is null counts as not sent', async () => {
    const ann = await User.fresh();
    const answer = await ann.post<SubscribeAnswer>('/subscriptions', {
      subscriptions: [{ feed_url: urlA, guid: null }],
    });
    expect(answer.body.success.map(({ guid }) => guid)).toEqual([await ann.subscribed(urlA)]);
  });

  test.each(['', 'x', 1, {}, [[]], true, '9b024349ccf05f69a6096b82873eab3c', '{9b024349-ccf0-5f69-a609-6b82873eab3c}'])(
    'that is no UUID string is a failure entry: %j',
    async (guid) => expect(await failure({ feed_url: urlA, guid })).toMatch(/guid/i),
  );
});
