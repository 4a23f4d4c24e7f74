import { describe, expect, test } from 'vitest';
import type { Episode, Statuses } from './interface.js';
import { episode, newGuid } from './samples.js';
import { User } from './user.js';

const flags = ['played_status', 'new_status', 'download_status', 'favorite_status'] as const;

/** A user with one episode, to which statuses are sent one after the other. */
async function userWithEpisode() {
  const ann = await User.fresh();
  const podcast = await ann.subscribed();
  const { sync_id } = await ann.uploaded(episode(podcast, 1));
  const set = (statuses: Statuses): Promise<Episode> => ann.uploaded({ podcast_guid: podcast, sync_id, ...statuses });
  /** Plays to a position at a time, and tells where it then stands. */
  const play = async (value: number, timestamp: string) =>
    (await set({ playback_position: { value, timestamp } })).playback_position;
  return { ann, set, play };
}

const at = (minute: number, rest = '') => `2023-02-23T14:${String(minute).padStart(2, '0')}${rest}`;

describe('a status', () => {
  test('is printed to the minute, without a zone, in UTC', async () => {
    const { play } = await userWithEpisode();
    expect(await play(1, '2023-02-23T14:05:59.999Z')).toEqual({ value: 1, timestamp: '2023-02-23T14:05' });
    expect(await play(2, '2023-02-23T16:06:00+02:00')).toEqual({ value: 2, timestamp: '2023-02-23T14:06' });
    expect(await play(3, '2023-02-23T14:07')).toEqual({ value: 3, timestamp: '2023-02-23T14:07' });
    expect(await play(4, '2023-02-23 14:08:00z')).toEqual({ value: 4, timestamp: '2023-02-23T14:08' });
  });

  test.each([0, 0.5, 1_234.567, 1e9, 1e300])(
    'of playback_position is a number of seconds, 0 or more: %d',
    async (value) => {
      const { play } = await userWithEpisode();
      expect((await play(value, at(0)))?.value).toBe(value);
    },
  );

  test.each(flags)('of %s is a boolean', async (name) => {
    const { set } = await userWithEpisode();
    for (const [minute, value] of [true, false, true].entries()) {
      const status = { value, timestamp: at(minute) };
      expect((await set({ [name]: status }))[name]).toEqual(status);
    }
  });

  test('that was never set is left out', async () => {
    const { ann } = await userWithEpisode();
    const [row] = (await ann.episodes()).episodes;
    expect(Object.keys(row ?? {}).filter((name) => name.endsWith('_status') || name.startsWith('playback'))).toEqual(
      [],
    );
  });

  test('stands apart from the others', async () => {
    const { set } = await userWithEpisode();
    await set({ played_status: { value: true, timestamp: at(9) } });
    const row = await set({ new_status: { value: false, timestamp: at(1) } });
    expect(row).toMatchObject({ played_status: { timestamp: at(9) }, new_status: { timestamp: at(1) } });
  });
});

describe('a status is a last-writer-wins register by client time', () => {
  test('later replaces', async () => {
    const { play } = await userWithEpisode();
    await play(1, at(1, ':00Z'));
    expect(await play(2, at(2, ':00Z'))).toEqual({ value: 2, timestamp: at(2) });
  });

  test('equal replaces', async () => {
    const { play } = await userWithEpisode();
    await play(1, at(1, ':30.5Z'));
    expect((await play(2, at(1, ':30.5Z')))?.value).toBe(2);
  });

  test('earlier is ignored, and the success item shows what stands', async () => {
    const { play } = await userWithEpisode();
    await play(1, at(2, ':00Z'));
    expect(await play(2, at(1, ':59.999Z'))).toEqual({ value: 1, timestamp: at(2) });
  });

  test('seconds and fractions count: times are stored in full', async () => {
    const { play } = await userWithEpisode();
    await play(1, at(1, ':30.500Z'));
    expect((await play(2, at(1, ':30.499Z')))?.value).toBe(1);
    expect((await play(3, at(1, ':30.501Z')))?.value).toBe(3);
  });

  test('when the sent time is in minute form both are compared by the minute', async () => {
    const { play } = await userWithEpisode();
    await play(1, at(5, ':50Z'));
    expect((await play(2, at(5)))?.value).toBe(2);
    expect((await play(3, at(4)))?.value).toBe(2);
  });

  test('when the standing time is in minute form both are compared by the minute', async () => {
    const { play } = await userWithEpisode();
    await play(1, at(5));
    expect((await play(2, at(5, ':00Z')))?.value).toBe(2);
    await play(3, at(6));
    expect((await play(4, at(5, ':59Z')))?.value).toBe(3);
  });

  test('a late upload from an offline device still reaches the others, whatever its own time', async () => {
    const { ann, set } = await userWithEpisode();
    const { sync } = await ann.episodes();
    await set({ favorite_status: { value: true, timestamp: '2001-01-01T00:00' } });
    expect((await ann.episodes({ since: sync })).episodes).toMatchObject([{ favorite_status: { value: true } }]);
  });
});

describe('a client time', () => {
  const minutes = (count: number) => new Date(Date.now() + count * 60_000).toISOString();

  test('up to 5 minutes ahead is taken as it is', async () => {
    const { play } = await userWithEpisode();
    const time = minutes(4);
    expect(await play(1, time)).toEqual({ value: 1, timestamp: time.slice(0, 16) });
  });

  test.each([minutes(10), '9999-12-31T23:59'])("more than that ahead counts as the request's arrival", async (time) => {
    const { play } = await userWithEpisode();
    const before = Date.now();
    const status = await play(1, time);
    const around = [before, Date.now()].map((now) => new Date(now).toISOString().slice(0, 16));
    expect(status?.value).toBe(1);
    expect(around).toContain(status?.timestamp);
    expect((await play(2, new Date(Date.now() + 1_000).toISOString()))?.value).toBe(2);
  });

  test('that is clamped changes nothing where the value equals the stored one', async () => {
    const { ann, play } = await userWithEpisode();
    await play(1, at(1));
    const { sync } = await ann.episodes();
    expect(await play(1, minutes(48))).toEqual({ value: 1, timestamp: at(1) });
    expect((await ann.episodes({ since: sync })).total).toBe(0);
  });
});

describe('an entry that repeats the standing values is no change and gets no new stamp', () => {
  test.each([
    ['the same again', 1, at(5, ':30Z')],
    ['the same value within the same minute', 1, at(5, ':45Z')],
    ['the same value at the minute', 1, at(5)],
    ['an earlier write', 7, at(4)],
  ])('%s', async (_, value, timestamp) => {
    const { ann, play } = await userWithEpisode();
    await play(1, at(5, ':30Z'));
    const before = await ann.episodes();
    await play(value, timestamp);
    expect((await ann.episodes({ since: before.sync })).total).toBe(0);
    expect((await ann.episodes()).episodes).toEqual(before.episodes);
  });

  test('a replay of a whole upload', async () => {
    const ann = await User.fresh();
    const podcast = await ann.subscribed();
    const entries = [1, 2].map((n) => episode(podcast, n, { played_status: { value: true, timestamp: at(n) } }));
    const first = await ann.upload(...entries);
    const { sync } = await ann.episodes();
    expect(await ann.upload(...entries)).toEqual(first);
    expect((await ann.episodes({ since: sync })).total).toBe(0);
  });

  test('but a change of any of its metadata is one', async () => {
    const ann = await User.fresh();
    const podcast = await ann.subscribed();
    await ann.uploaded(episode(podcast, 1));
    for (const more of [
      { title: 'x' },
      { episode_url: 'http://x.example/' },
      { enclosure_url: 'http://x.example/a' },
      { duration: 90 },
    ]) {
      const { sync } = await ann.episodes();
      await ann.uploaded(episode(podcast, 1, more));
      expect((await ann.episodes({ since: sync })).episodes).toMatchObject([more]);
    }
  });

  test('and so is an unchanged value in a later minute', async () => {
    const { ann, play } = await userWithEpisode();
    await play(1, at(5));
    const { sync } = await ann.episodes();
    await play(1, at(6));
    expect((await ann.episodes({ since: sync })).episodes).toMatchObject([{ playback_position: { timestamp: at(6) } }]);
  });

  test('of an alias sync_id alone is no change that anyone sees', async () => {
    const ann = await User.fresh();
    const podcast = await ann.subscribed();
    await ann.uploaded(episode(podcast, 1));
    const before = await ann.episodes();
    await ann.uploaded(episode(podcast, 1, { sync_id: newGuid() }));
    expect((await ann.episodes()).episodes).toEqual(before.episodes);
  });
});
