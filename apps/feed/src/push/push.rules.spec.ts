import { describe, expect, it } from 'vitest';
import { validatePush } from './push.rules.js';

const feed_url = 'https://a.example/feed';
const guid = '0d3b5a52-6a3e-5a0c-9a9e-6c1d7c6c2c11';

describe('an entry of POST /feeds', () => {
  it('is read like a document', () => {
    const sent = {
      feed_url,
      title: ' Mind &amp; Matter ',
      author: 'Ann',
      description: '<p>About both.</p>',
      link: 'https://a.example/',
      language: 'en_US',
      image_url: 'https://a.example/1.png',
      artwork_url: ' https://platform.example/1.webp ',
      guid: guid.toUpperCase(),
      episodes: [
        { episode_guid: '1', title: 'One', publish_date: '2026-01-01T00:00:00Z', duration: 60 },
        { enclosure_url: 'https://a.example/2.mp3', image_url: 'https://a.example/2.png' },
        { episode_guid: '1', title: 'Again' },
      ],
    };
    expect(validatePush(sent)).toEqual({
      url: feed_url,
      artworkUrl: 'https://platform.example/1.webp',
      document: {
        isWhole: true,
        title: 'Mind & Matter',
        author: 'Ann',
        description: 'About both.',
        link: 'https://a.example/',
        language: 'en-US',
        imageUrl: 'https://a.example/1.png',
        declaredGuid: guid,
        isBlocked: false,
        isComplete: false,
        items: [
          { guid: '1', title: 'One', publishDate: new Date('2026-01-01T00:00:00Z'), duration: 60 },
          { enclosureUrl: 'https://a.example/2.mp3', imageUrl: 'https://a.example/2.png' },
        ],
      },
    });
  });

  it('has URLs without surrounding white space, as those of subscriptions', () => {
    const moved = 'https://b.example/feed';
    const sent = { feed_url: ` ${feed_url}\n`, new_feed_url: ` ${moved} ` };
    expect(validatePush(sent)).toMatchObject({ url: feed_url, document: { newFeedUrl: moved } });
    expect(validatePush({ feed_url: ' x ' })).toMatchObject({
      feed_url: ' x ',
      code: 'invalid_url',
    });
  });

  it('ignores texts and links of another form, and null', () => {
    const texts = { title: 1, link: 'x', language: '?', artwork_url: 'x' };
    const sent = { feed_url, ...texts, guid: null, episodes: null };
    expect(validatePush(sent)).toMatchObject({ document: { items: [] }, artworkUrl: undefined });
    expect(validatePush(sent)).not.toHaveProperty('document.title', expect.anything());
  });

  it.each<[unknown, string, string]>([
    ['x', 'invalid_value', 'An entry must be an object'],
    [{}, 'invalid_url', 'No protocol present'],
    [{ feed_url: 'ftp://a.example' }, 'invalid_url', 'neither http nor https'],
    [{ feed_url: 'https://ann:secret@a.example/' }, 'invalid_url', 'one listener'],
    [{ feed_url, new_feed_url: 'https://192.0.2.1/' }, 'invalid_url', 'new_feed_url'],
    [{ feed_url, new_feed_url: 1 }, 'invalid_url', 'new_feed_url'],
    [{ feed_url, guid: 'x' }, 'invalid_guid', 'not a valid UUID'],
    [{ feed_url, episodes: {} }, 'invalid_value', 'not an array'],
    [{ feed_url, episodes: Array.from({ length: 101 }) }, 'limit_reached', 'More than 100'],
  ])('is refused: %j', (sent, code, message) => {
    expect(validatePush(sent)).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it.each<[unknown, string, string]>([
    ['x', 'invalid_value', 'is not an object'],
    [{ title: 'x' }, 'missing_identifier', 'send episode_guid or enclosure_url'],
    [{ enclosure_url: 'x' }, 'invalid_url', 'enclosure_url'],
  ])('is stored without the episode %j', (episode, code, message) => {
    const sent = { feed_url, episodes: [{ episode_guid: '1' }, episode, episode] };
    expect(validatePush(sent)).toMatchObject({
      url: feed_url,
      document: { items: [{ guid: '1' }] },
      failure: {
        feed_url,
        code,
        message: expect.stringMatching(
          new RegExp(`^episodes\\[1\\]: .*${message}.* \\(2 left out\\)$`),
        ),
      },
    });
  });
});
