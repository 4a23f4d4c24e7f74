import { describe, expect, test } from 'vitest';
import type { EpisodeEntry } from './interface.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

async function userWithOne(): Promise<{ ann: User; podcast: string }> {
  const ann = await User.fresh();
  return { ann, podcast: await ann.subscribed(feed(1), newGuid()) };
}

type Change = Partial<EpisodeEntry>;
const other = episode('', 2);
const [date, link, title, enclosure] = [
  { publish_date: other.publish_date as string },
  { episode_url: other.episode_url as string },
  { title: other.title as string },
  { enclosure_url: other.enclosure_url as string },
];
const guid = { episode_guid: 'another' };
const none = { episode_guid: '' };
const epoch = '1970-01-01T00:00:00.000Z';

/** Whether what is stored and what is sent after it, both described by what differs from a sample, are one episode. */
async function areOne(stored: Change, sent: Change): Promise<boolean> {
  const { ann, podcast } = await userWithOne();
  const first = await ann.uploaded(episode(podcast, 1, stored));
  const second = await ann.uploaded(episode(podcast, 1, sent));
  const { total } = await ann.episodes();
  expect(total === 1).toBe(first.sync_id === second.sync_id);
  return total === 1;
}

describe('within one subscription two are the same episode', () => {
  test.each<[string, Change, Change]>([
    ['by episode_guid, whatever else differs', {}, { ...date, ...link, ...title, ...enclosure }],
    ['by enclosure_url where the stored one has no episode_guid', none, { ...date, ...link, ...title }],
    ['by enclosure_url where the sent one has no episode_guid', {}, { ...none, ...date, ...link, ...title }],
    ['by enclosure_url where neither has an episode_guid', none, { ...none, ...date, ...link, ...title }],
    ['by publish_date and episode_url where one has no episode_guid', none, { ...enclosure, ...title }],
    ['by publish_date and title where one has no episode_guid', {}, { ...none, ...enclosure, ...link }],
    ['by episode_url and title where neither has an episode_guid', none, { ...none, ...enclosure, ...date }],
    ['with different episode_guids when enclosure_url and title agree', {}, { ...guid, ...date, ...link }],
    ['with different episode_guids when enclosure_url and publish_date agree', {}, { ...guid, ...link, ...title }],
    ['with different episode_guids when enclosure_url and episode_url agree', {}, { ...guid, ...date, ...title }],
    [
      'by publish_date as a time, however it is written',
      none,
      { ...enclosure, ...title, publish_date: '2023-02-02T16:00:00+02:00' },
    ],
  ])('%s', async (_, stored, sent) => expect(await areOne(stored, sent)).toBe(true));
});

describe('two are different episodes', () => {
  test.each<[string, Change, Change]>([
    ['with different episode_guids when only enclosure_url agrees', {}, { ...guid, ...date, ...link, ...title }],
    ['with different episode_guids when all but enclosure_url agrees', {}, { ...guid, ...enclosure }],
    ['without episode_guid when only publish_date agrees', none, { ...none, ...enclosure, ...link, ...title }],
    ['without episode_guid when only title agrees', none, { ...none, ...enclosure, ...link, ...date }],
    ['when titles are empty: those never agree', { ...none, title: '' }, { ...none, ...enclosure, ...link, title: '' }],
    ['when episode_guids are empty: those never agree', none, { ...none, ...enclosure, ...link, ...date, ...title }],
    [
      'when enclosure_urls are unknown: those never agree',
      { enclosure_url: '' },
      { ...guid, enclosure_url: '', ...date, ...link },
    ],
    [
      'when publish_dates are unknown: those never agree',
      { ...none, publish_date: epoch },
      { ...none, publish_date: epoch, ...enclosure, ...link },
    ],
    [
      'with different episode_guids when enclosure_url and unknown dates agree',
      { publish_date: epoch },
      { ...guid, publish_date: epoch, ...link, ...title },
    ],
    ['when episode_guids differ in case', {}, { ...enclosure, episode_guid: 'EPISODE 1' }],
  ])('%s', async (_, stored, sent) => expect(await areOne(stored, sent)).toBe(false));

  test('in different subscriptions, whatever agrees', async () => {
    const { ann, podcast } = await userWithOne();
    const second = await ann.subscribed(feed(2));
    await ann.upload(episode(podcast, 1), episode(second, 1));
    expect((await ann.episodes()).episodes.map((row) => row.podcast_guid)).toEqual([podcast, second]);
  });
});

describe('of several candidates', () => {
  test('the one with the lowest row id is taken', async () => {
    const { ann, podcast } = await userWithOne();
    const [first] = await ann.upload(
      episode(podcast, 1),
      episode(podcast, 2, { enclosure_url: episode(podcast, 1).enclosure_url as string }),
    );
    const sent = episode(podcast, 3, { ...none, enclosure_url: episode(podcast, 1).enclosure_url as string });
    expect((await ann.uploaded(sent)).sync_id).toBe(first?.sync_id);
    expect((await ann.episodes()).total).toBe(2);
  });

  test('episode_guid comes before enclosure_url', async () => {
    const { ann, podcast } = await userWithOne();
    const [, second] = await ann.upload(episode(podcast, 1, none), episode(podcast, 2));
    const sent = episode(podcast, 2, { enclosure_url: episode(podcast, 1).enclosure_url as string });
    expect((await ann.uploaded(sent)).sync_id).toBe(second?.sync_id);
  });

  test('sync_id comes before episode_guid', async () => {
    const { ann, podcast } = await userWithOne();
    const first = await ann.uploaded(episode(podcast, 1));
    const sent = episode(podcast, 2, { sync_id: first.sync_id });
    expect(await ann.uploaded(sent)).toMatchObject({ sync_id: first.sync_id, episode_guid: 'episode 2' });
    expect((await ann.episodes()).total).toBe(1);
  });
});

describe('a sync_id', () => {
  test('is made by the server when none was sent, and another for each episode', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.upload(episode(podcast, 1), episode(podcast, 2));
    expect(new Set(made.map((row) => row.sync_id)).size).toBe(2);
  });

  test('not known yet may be supplied by the client, in any case', async () => {
    const { ann, podcast } = await userWithOne();
    const sync_id = newGuid();
    expect((await ann.uploaded(episode(podcast, 1, { sync_id: sync_id.toUpperCase() }))).sync_id).toBe(sync_id);
  });

  test('of a known episode makes the other identifiers optional', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.uploaded(episode(podcast, 1));
    const favorite_status = { value: true, timestamp: '2023-02-23T14:00' };
    const sent = { podcast_guid: podcast, sync_id: made.sync_id, favorite_status };
    expect(await ann.uploaded(sent)).toEqual({ ...made, favorite_status });
  });

  test('stands: a different one sent for the same episode is an alias that names it', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.uploaded(episode(podcast, 1));
    const alias = newGuid();
    expect((await ann.uploaded(episode(podcast, 1, { sync_id: alias }))).sync_id).toBe(made.sync_id);
    expect(await ann.uploaded({ podcast_guid: podcast, sync_id: alias })).toEqual(made);
    expect((await ann.episodes()).total).toBe(1);
  });

  test("of another subscription's episode is a failure entry", async () => {
    const { ann, podcast } = await userWithOne();
    const second = await ann.subscribed(feed(2));
    const made = await ann.uploaded(episode(podcast, 1));
    const sent = episode(second, 1, { sync_id: made.sync_id });
    expect(await ann.refused(sent)).toMatchObject({ podcast_guid: second, sync_id: made.sync_id });
    expect((await ann.episodes()).episodes).toEqual([made]);
  });

  test("of another user's episode is not known", async () => {
    const { ann, podcast } = await userWithOne();
    const theirs = await userWithOne();
    const { sync_id } = await theirs.ann.uploaded(episode(theirs.podcast, 1));
    await ann.refused({ podcast_guid: podcast, sync_id });
    expect((await ann.uploaded(episode(podcast, 1, { sync_id }))).sync_id).toBe(sync_id);
    expect((await theirs.ann.episodes()).episodes).toMatchObject([{ sync_id, podcast_guid: theirs.podcast }]);
  });
});

describe('an entry that brings what the row found first lacked makes one of it and of another that has it', () => {
  const at = (minute: number) => `2023-02-23T14:0${minute}`;
  const enclosure_url = 'https://media.example/1.mp3';

  /** A device knew the episode by its episode_guid alone, another one by its enclosure_url. */
  async function known() {
    const { ann, podcast } = await userWithOne();
    const [byUrl, byGuid] = await ann.upload(
      {
        podcast_guid: podcast,
        enclosure_url,
        title: 'One',
        duration: 90,
        played_status: { value: true, timestamp: at(2) },
        new_status: { value: true, timestamp: at(1) },
      },
      {
        podcast_guid: podcast,
        episode_guid: 'episode 1',
        playback_position: { value: 7, timestamp: at(1) },
        new_status: { value: false, timestamp: at(3) },
      },
    );
    return { ann, podcast, byUrl, byGuid, sync: (await ann.episodes()).sync };
  }

  test.each([
    ['episode_guid', () => ({ episode_guid: 'episode 1' })],
    ['sync_id', (sync_id: string | undefined) => ({ sync_id })],
  ])('an enclosure_url to the one found by its %s', async (_, name) => {
    const { ann, podcast, byUrl, byGuid, sync } = await known();
    const [one] = await ann.upload({ podcast_guid: podcast, enclosure_url, ...name(byGuid?.sync_id) } as EpisodeEntry);
    expect(one).toEqual({
      podcast_guid: podcast,
      sync_id: byGuid?.sync_id,
      episode_guid: 'episode 1',
      title: 'One',
      publish_date: epoch,
      enclosure_url,
      episode_url: '',
      duration: 90,
      playback_position: { value: 7, timestamp: at(1) },
      played_status: { value: true, timestamp: at(2) },
      new_status: { value: false, timestamp: at(3) },
    });
    expect((await ann.episodes()).episodes).toEqual([one]);
    expect((await ann.episodes({ since: sync })).episodes).toEqual([one]);
    expect(await ann.uploaded({ podcast_guid: podcast, sync_id: byUrl?.sync_id ?? '' })).toEqual(one);
    expect(await ann.uploaded({ podcast_guid: podcast, enclosure_url })).toEqual(one);
  });

  test('an episode_guid to the one found by its sync_id', async () => {
    const { ann, podcast, byUrl } = await known();
    const sent = { podcast_guid: podcast, sync_id: byUrl?.sync_id ?? '', episode_guid: 'episode 1' };
    const one = await ann.uploaded(sent);
    expect(one).toMatchObject({ sync_id: byUrl?.sync_id, episode_guid: 'episode 1', enclosure_url, duration: 90 });
    expect((await ann.episodes()).episodes).toEqual([one]);
  });

  test('within one batch as well', async () => {
    const { ann, podcast } = await userWithOne();
    const made = await ann.upload(
      { podcast_guid: podcast, enclosure_url },
      { podcast_guid: podcast, episode_guid: 'episode 1' },
      { podcast_guid: podcast, episode_guid: 'episode 1', enclosure_url },
    );
    expect((await ann.episodes()).episodes).toEqual([made[2]]);
    expect(made).toEqual([made[2], made[2], made[2]]);
  });

  test('but not of one that has another episode_guid', async () => {
    const { ann, podcast } = await userWithOne();
    await ann.upload(episode(podcast, 2, { enclosure_url }), { podcast_guid: podcast, episode_guid: 'episode 1' });
    await ann.uploaded({ podcast_guid: podcast, episode_guid: 'episode 1', enclosure_url });
    expect((await ann.episodes()).total).toBe(2);
  });
});

describe('a sync_id of one episode with the episode_guid of another in the same subscription merges the two', () => {
  async function merged() {
    const { ann, podcast } = await userWithOne();
    const at = (n: number) => `2023-02-23T14:0${n}`;
    const [one, two] = await ann.upload(
      episode(podcast, 1, {
        playback_position: { value: 1, timestamp: at(1) },
        played_status: { value: true, timestamp: at(4) },
      }),
      episode(podcast, 2, {
        playback_position: { value: 2, timestamp: at(2) },
        played_status: { value: false, timestamp: at(3) },
      }),
    );
    const { sync } = await ann.episodes();
    const sent = { podcast_guid: podcast, sync_id: one?.sync_id ?? '', episode_guid: 'episode 2' };
    return { ann, podcast, one, two, sync, at, answer: await ann.uploaded(sent) };
  }

  test('the one named by the sync_id lives on, and is the only row', async () => {
    const { ann, one, sync, answer } = await merged();
    expect(answer).toMatchObject({ sync_id: one?.sync_id, episode_guid: 'episode 2', title: 'Title of 1' });
    expect((await ann.episodes()).episodes).toEqual([answer]);
    expect((await ann.episodes({ since: sync })).episodes).toEqual([answer]);
  });

  test('of each status the newest wins', async () => {
    const { answer, at } = await merged();
    expect(answer).toMatchObject({
      playback_position: { value: 2, timestamp: at(2) },
      played_status: { value: true, timestamp: at(4) },
    });
  });

  test('the other sync_id becomes an alias', async () => {
    const { ann, podcast, two, answer } = await merged();
    expect(await ann.uploaded({ podcast_guid: podcast, sync_id: two?.sync_id ?? '' })).toEqual(answer);
  });
});
