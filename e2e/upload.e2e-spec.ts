import { describe, expect, test } from 'vitest';
import { expectError, guidForm } from './http.js';
import type { UploadAnswer } from './interface.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

async function userWithOne(): Promise<{ ann: User; podcast: string }> {
  const ann = await User.fresh();
  return { ann, podcast: await ann.subscribed(feed(1), newGuid()) };
}

/** How the fields are shown that an episode must have, where they are not known. */
const unknown = {
  episode_guid: '',
  title: '',
  publish_date: '1970-01-01T00:00:00.000Z',
  enclosure_url: '',
  episode_url: '',
};

const status = (value: unknown, timestamp: unknown = '2023-02-23T14:00') => ({ value, timestamp });

describe('POST /episodes', () => {
  test('answers with the whole episode as GET /episodes shows it', async () => {
    const { ann, podcast } = await userWithOne();
    const sent = episode(podcast, 1, {
      playback_position: { value: 12.5, timestamp: '2023-02-23T14:00' },
      played_status: { value: false, timestamp: '2023-02-23T14:01' },
      new_status: { value: false, timestamp: '2023-02-23T14:02' },
      download_status: { value: true, timestamp: '2023-02-23T14:03' },
      favorite_status: { value: true, timestamp: '2023-02-23T14:04' },
    });
    const made = await ann.uploaded(sent);
    expect(made).toEqual({ ...sent, sync_id: expect.stringMatching(guidForm) });
    expect((await ann.episodes()).episodes).toEqual([made]);
  });

  test('returns temporary_id, a string or a number, in that answer only', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.upload(
      ...['', 'a', 0, 1.5].map((temporary_id, n) => episode(podcast, n, { temporary_id })),
      episode(podcast, 9),
    );
    expect(made.map((row) => row.temporary_id)).toEqual(['', 'a', 0, 1.5, undefined]);
    expect((await ann.episodes()).episodes.some((row) => 'temporary_id' in row)).toBe(false);
  });

  test('judges each entry by itself: a bad one never sinks the batch, success keeps the order', async () => {
    const { ann, podcast } = await userWithOne();
    const episodes = [
      episode(podcast, 3),
      {},
      episode(podcast, 1),
      null,
      'x',
      episode(podcast, 2, { episode_guid: 7 as never }),
    ];
    const { body } = await ann.post<UploadAnswer>('/episodes', { episodes });
    expect(body.success.map((row) => row.title)).toEqual(['Title of 3', 'Title of 1']);
    expect(body.failure).toHaveLength(4);
    expect((await ann.episodes()).total).toBe(2);
  });

  test('applies entries in order, each seeing the earlier ones', async () => {
    const { ann, podcast } = await userWithOne();
    const sync_id = newGuid();
    const made = await ann.upload(
      episode(podcast, 1, { sync_id, title: 'first' }),
      { podcast_guid: podcast, sync_id, title: 'second' },
      episode(podcast, 1, { title: 'third' }),
    );
    expect(new Set(made.map((row) => row.sync_id))).toEqual(new Set([sync_id]));
    expect((await ann.episodes()).episodes).toMatchObject([{ title: 'third' }]);
  });

  test('replaces stored metadata by what was sent and keeps the rest', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.uploaded(episode(podcast, 1));
    const sent = {
      podcast_guid: podcast,
      sync_id: made.sync_id,
      title: 'new',
      publish_date: '2024-01-01T00:00:00.5+01:00',
    };
    expect(await ann.uploaded(sent)).toEqual({ ...made, title: 'new', publish_date: '2023-12-31T23:00:00.500Z' });
  });

  test.each([
    ['an episode_guid', { episode_guid: 'x' }],
    ['an enclosure_url', { enclosure_url: 'https://media.example/x.mp3' }],
  ])('needs no more than %s, and shows every required field, the unknown ones as empty or 1970', async (_, known) => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.uploaded({ podcast_guid: podcast, ...known });
    const shown = { podcast_guid: podcast, sync_id: expect.stringMatching(guidForm) as string, ...unknown, ...known };
    expect(made).toEqual(shown);
    expect((await ann.episodes()).episodes).toEqual([made]);
  });

  test('takes what is sent as it is shown where it is unknown as unknown, on creation and later', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.uploaded({ podcast_guid: podcast, ...unknown, episode_guid: 'x' });
    expect(made).toMatchObject({ ...unknown, episode_guid: 'x' });
    const whole = await ann.uploaded(episode(podcast, 1, { sync_id: made.sync_id, duration: 90 }));
    const { sync } = await ann.episodes();
    expect(await ann.uploaded({ podcast_guid: podcast, sync_id: made.sync_id, ...unknown })).toEqual(whole);
    expect((await ann.episodes({ since: sync })).total).toBe(0);
  });

  test.each<[string, object]>([
    ['a title that is no string', { title: 7 }],
    ['no title', { title: undefined }],
    ['a publish_date that is no time', { publish_date: 'yesterday' }],
    ['a publish_date of a day that does not exist', { publish_date: '2023-02-29T00:00:00Z' }],
    ['a publish_date without zone', { publish_date: '2023-02-23T14:00' }],
    ['a publish_date that is a number', { publish_date: 1_677_160_800 }],
    ['a duration of 0', { duration: 0 }],
    ['a negative duration', { duration: -1 }],
    ['a duration that is a string', { duration: '90' }],
    ['a duration that is an object', { duration: { value: 90 } }],
  ])('never costs the state for what only describes: %s counts as not sent', async (_, change) => {
    const { ann, podcast } = await userWithOne();
    const [field] = Object.keys(change) as ['title' | 'publish_date' | 'duration'];
    const played_status = { value: true, timestamp: '2023-02-23T14:00' };
    const [made] = await ann.upload({ ...episode(podcast, 1), ...change, played_status });
    expect(made).toMatchObject({ played_status, episode_guid: 'episode 1' });
    expect(made?.[field]).toBe(({ ...unknown, duration: undefined } as Record<string, unknown>)[field]);
    const known = await ann.uploaded(episode(podcast, 1, { duration: 90 }));
    expect(await ann.upload({ ...episode(podcast, 1), ...change })).toEqual([known]);
  });

  test('keeps the duration that was sent last, in seconds, and shows it only where one is known', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.uploaded(episode(podcast, 1));
    expect(made).not.toHaveProperty('duration');
    const name = { podcast_guid: podcast, sync_id: made.sync_id };
    for (const duration of [0.5, 5_400, 90.25]) {
      const { sync } = await ann.episodes();
      expect(await ann.uploaded({ ...name, duration })).toEqual({ ...made, duration });
      expect(await ann.uploaded({ ...name, duration })).toEqual({ ...made, duration });
      expect((await ann.episodes({ since: sync })).episodes).toEqual([{ ...made, duration }]);
    }
    expect((await ann.uploaded(name)).duration).toBe(90.25);
  });

  test('keeps texts and URLs as sent, spaces inside too, but for white space around them', async () => {
    const { ann, podcast } = await userWithOne();
    const exact = {
      episode_guid: 'https://x.example/?a=1#"\\ \u0007 ☂',
      title: 'Ünïcode \u{1f399}  "',
      enclosure_url: 'HTTP://Media.Example/%7e a.mp3?x',
      episode_url: 'https://show.example/ä b',
    };
    const padded = Object.fromEntries(Object.entries(exact).map(([name, text]) => [name, ` \n${text}\t`]));
    expect(await ann.uploaded(episode(podcast, 1, padded))).toMatchObject(exact);
    expect((await ann.episodes()).episodes).toMatchObject([exact]);
  });

  test('takes control characters and lone surrogates of a title as spaces, and cuts it at a character', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.upload(
      episode(podcast, 1, { title: 'a\u0000b\nc\ud800d' }),
      episode(podcast, 2, { title: `x${'ä'.repeat(1_024)}` }),
    );
    expect(made.map((row) => row.title)).toEqual(['a b c d', `x${'ä'.repeat(1_023)}`]);
  });

  test.each([
    'show.example/1',
    'ftp://show.example/1',
    'https://show.example/\n1',
    `https://s.example/${'x'.repeat(4_096)}`,
    '',
    5,
  ])('keeps the state of an episode whose episode_url can not be used: %#', async (episode_url) => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.uploaded(episode(podcast, 1, { episode_url: episode_url as string }));
    expect(made.episode_url).toBe('');
    const { episode_url: known } = episode(podcast, 1);
    expect((await ann.uploaded(episode(podcast, 1))).episode_url).toBe(known);
    expect((await ann.uploaded(episode(podcast, 1, { episode_url: episode_url as string }))).episode_url).toBe(known);
  });

  test('keeps episodes of unsubscribed subscriptions listed, and takes more', async () => {
    const { ann, podcast } = await userWithOne();
    await ann.uploaded(episode(podcast, 1));
    await ann.update(podcast, { is_subscribed: false });
    await ann.uploaded(episode(podcast, 2));
    expect((await ann.episodes()).total).toBe(2);
    expect((await ann.subscription(podcast)).is_subscribed).toBe(false);
  });
});

describe('a failure entry echoes what identifies it, and has a code and a message', () => {
  test('as they were sent', async () => {
    const { ann } = await userWithOne();
    const identifiers = {
      podcast_guid: 'No GUID',
      sync_id: 'x',
      episode_guid: 'y',
      enclosure_url: 'z',
      temporary_id: 7,
    };
    expect(await ann.refused({ ...identifiers, title: 'z' })).toEqual({
      ...identifiers,
      code: 'invalid_guid',
      message: expect.stringMatching(/podcast_guid/),
    });
  });

  test('only those that were sent', async () => {
    const { ann } = await userWithOne();
    expect(await ann.refused({})).toEqual({
      code: 'missing_identifier',
      message: expect.stringMatching(/podcast_guid/),
    });
    expect(Object.keys(await ann.refused(null))).toEqual(['code', 'message']);
    expect(Object.keys(await ann.refused([]))).toEqual(['code', 'message']);
  });

  test('also when it fails on what is stored', async () => {
    const { ann } = await userWithOne();
    const sent = episode(newGuid(), 1, { temporary_id: 't', sync_id: newGuid() });
    const { podcast_guid, sync_id, episode_guid, enclosure_url, temporary_id } = sent;
    const echoed = { podcast_guid, sync_id, episode_guid, enclosure_url, temporary_id };
    const message = expect.any(String) as string;
    expect(await ann.refused(sent)).toEqual({ ...echoed, code: 'unknown_subscription', message });
  });
});

describe('null counts as not sent', () => {
  test.each<[string, object]>([
    ['for sync_id', { sync_id: null }],
    ['for temporary_id', { temporary_id: null }],
    ['for what describes it', { title: null, publish_date: null, episode_url: null, duration: null }],
    ['for one of two identifiers', { enclosure_url: null }],
    ['for a status', { played_status: null }],
    ['for the value of a status, and with it the status', { new_status: status(null) }],
    ['and so does a status without a value', { played_status: { timestamp: '2023-02-23T14:00' } }],
  ])('%s', async (_, change) => {
    const { ann, podcast } = await userWithOne();
    const [made] = await ann.upload({ ...episode(podcast, 1), ...change });
    expect(Object.keys(made ?? {}).sort()).toEqual(
      Object.keys((await ann.upload(episode(podcast, 2)))[0] ?? {}).sort(),
    );
  });
});

describe('an entry fails when', () => {
  const nul = 'a\u0000b';
  const half = 'a\ud800b';

  test.each<[string, object]>([
    ['podcast_guid is missing', { podcast_guid: undefined }],
    ['podcast_guid is no UUID', { podcast_guid: 'x' }],
    ['podcast_guid is null', { podcast_guid: null }],
    ['podcast_guid names nothing', { podcast_guid: newGuid() }],
    ['sync_id is no UUID', { sync_id: 'x' }],
    ['episode_guid is no string', { episode_guid: 1 }],
    ['episode_guid is longer than 2,048 bytes', { episode_guid: 'ä'.repeat(1_025) }],
    ['episode_guid has a NUL', { episode_guid: nul }],
    ['episode_guid has a lone surrogate', { episode_guid: half }],
    ['enclosure_url is neither http nor https', { enclosure_url: 'ftp://media.example/a' }],
    ['enclosure_url is no string', { enclosure_url: 1 }],
    ['enclosure_url is longer than 4,096 bytes', { enclosure_url: `https://m.example/${'x'.repeat(4_079)}` }],
    ['enclosure_url has a line break', { enclosure_url: 'https://m.example/\n1' }],
    ['enclosure_url has a lone surrogate', { enclosure_url: `https://m.example/${half}` }],
    ['a status is no object', { played_status: true }],
    ['a status is a list', { played_status: [] }],
    ['a status has no timestamp', { played_status: { value: true } }],
    ['a timestamp is no time', { played_status: status(true, 'now') }],
    ['a timestamp is a date only', { played_status: status(true, '2023-02-23') }],
    ['a timestamp is a number', { played_status: status(true, 1_677_160_800) }],
    ['a timestamp is a minute that does not exist', { played_status: status(true, '2023-02-23T14:60') }],
    ['a boolean status is a number', { favorite_status: status(1) }],
    ['playback_position is negative', { playback_position: status(-1) }],
    ['playback_position is a string', { playback_position: status('1') }],
    ['playback_position is a boolean', { playback_position: status(true) }],
    ['temporary_id is an object', { temporary_id: {} }],
    ['temporary_id is longer than 255 bytes', { temporary_id: 'x'.repeat(256) }],
  ])('%s', async (_, change) => {
    const { ann, podcast } = await userWithOne();
    expect((await ann.refused({ ...episode(podcast, 1), ...change })).message).toMatch(/\S{3}/);
    expect((await ann.episodes()).total).toBe(0);
  });

  test('playback_position is too large for a number', async () => {
    const { ann, podcast } = await userWithOne();
    const raw = JSON.stringify({ episodes: [episode(podcast, 1, { playback_position: { value: 7, timestamp: 'T' } })] })
      .replace('"value":7', '"value":1e400')
      .replace('"T"', '"2023-02-23T14:00"');
    const { status: code, body } = await ann.send<UploadAnswer>('POST', '/episodes', { raw });
    expect([code, body.success, body.failure.length]).toEqual([200, [], 1]);
  });

  test.each<[string, object]>([
    ['missing', {}],
    ['empty', { episode_guid: '', enclosure_url: ' ' }],
    ['null', { episode_guid: null, enclosure_url: null }],
  ])('episode_guid and enclosure_url are both %s and the sync_id is not known', async (_, more) => {
    const { ann, podcast } = await userWithOne();
    const { episode_guid, enclosure_url, ...rest } = episode(podcast, 1, { sync_id: newGuid() });
    await ann.uploaded({ podcast_guid: podcast, episode_guid, enclosure_url });
    const { code, message } = await ann.refused({ ...rest, ...more });
    expect(code).toBe('missing_identifier');
    for (const name of ['episode_guid', 'enclosure_url']) expect(message).toContain(name);
    expect((await ann.episodes()).episodes).toMatchObject([{ title: '' }]);
  });

  test("podcast_guid is another user's", async () => {
    const [mine, theirs] = [await userWithOne(), await userWithOne()];
    await mine.ann.refused(episode(theirs.podcast, 1));
    expect((await theirs.ann.episodes()).total).toBe(0);
  });
});

describe('the limits are bytes', () => {
  test('episode_guid 2,048, title 2,048 and URLs 4,096, the longest of which are taken', async () => {
    const { ann, podcast } = await userWithOne();
    const longest = {
      episode_guid: '\u{1f399}'.repeat(512),
      title: 'ä'.repeat(1_024),
      enclosure_url: `https://m.example/${'x'.repeat(4_078)}`,
      episode_url: `https://s.example/${'☂'.repeat(1_359)}`,
    };
    const made = await ann.uploaded(episode(podcast, 1, longest));
    expect(made).toMatchObject(longest);
    expect((await ann.uploaded(episode(podcast, 1, longest))).sync_id).toBe(made.sync_id);
  });
});

describe('a body that is no list of episodes is 405', () => {
  test.each([{}, [[]], { episodes: {} }, { episodes: null }, { episodes: 'x' }, { subscriptions: [] }])(
    '%j',
    async (body) => {
      expectError(await (await User.fresh()).post('/episodes', body), 405);
    },
  );
});
