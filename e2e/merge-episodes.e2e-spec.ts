import { describe, expect, test } from 'vitest';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

const [urlX, urlY] = [feed('x'), feed('y')];

/** Two subscriptions: X, which a PATCH names in its path, and Y, which is merged into it. */
async function userWithTwo() {
  const ann = await User.fresh();
  const [x, y] = [newGuid(), newGuid()];
  await ann.subscribe({ feed_url: urlX, guid: x }, { feed_url: urlY, guid: y });
  return { ann, x, y };
}

describe('the episodes of a merged subscription', () => {
  const minute = (n: number) => `2023-02-23T14:0${n}`;

  test('belong to the survivor; those that moved are stamped', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.upload(episode(x, 1), episode(y, 2));
    const { sync } = await ann.episodes();
    await ann.update(x, { new_feed_url: urlY });
    expect((await ann.episodes()).episodes.map((row) => row.podcast_guid)).toEqual([x, x]);
    expect((await ann.episodes({ since: sync })).episodes).toMatchObject([{ episode_guid: 'episode 2' }]);
  });

  test('are matched and merged status by status, newest wins, and both sync_ids name the one', async () => {
    const { ann, x, y } = await userWithTwo();
    const [ofX, ofY] = await ann.upload(
      episode(x, 1, {
        playback_position: { value: 10, timestamp: minute(1) },
        played_status: { value: true, timestamp: minute(5) },
      }),
      episode(y, 1, {
        playback_position: { value: 20, timestamp: minute(2) },
        played_status: { value: false, timestamp: minute(4) },
        favorite_status: { value: true, timestamp: minute(3) },
      }),
    );
    const { sync } = await ann.episodes();
    await ann.update(x, { new_feed_url: urlY });
    const { total, episodes } = await ann.episodes({ since: sync });
    expect({ total, episodes }).toMatchObject({
      total: 1,
      episodes: [
        {
          playback_position: { value: 20, timestamp: minute(2) },
          played_status: { value: true, timestamp: minute(5) },
          favorite_status: { value: true, timestamp: minute(3) },
        },
      ],
    });
    for (const sync_id of [ofX?.sync_id, ofY?.sync_id])
      expect((await ann.uploaded({ podcast_guid: y, sync_id })).sync_id).toBe(episodes[0]?.sync_id);
    expect((await ann.episodes()).total).toBe(1);
  });

  test('have what the one at the survivor did not know completed by the other', async () => {
    const { ann, x, y } = await userWithTwo();
    const [ofX] = await ann.upload({ podcast_guid: x, episode_guid: 'episode 1' }, episode(y, 1, { duration: 90 }));
    await ann.update(x, { new_feed_url: urlY });
    expect((await ann.episodes()).episodes).toEqual([{ ...episode(x, 1, { duration: 90 }), sync_id: ofX?.sync_id }]);
  });

  test('that did not change at the survivor are not stamped', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.upload(episode(x, 1), episode(x, 2), episode(y, 1));
    const { sync } = await ann.episodes();
    await ann.update(x, { new_feed_url: urlY });
    const stamped = (await ann.episodes({ since: sync })).episodes.map((row) => row.title);
    expect(stamped).not.toContain('Title of 2');
  });

  test('can be uploaded by the guid of either', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(x, { new_feed_url: urlY });
    const made = await ann.upload(episode(x, 1), episode(y, 1), episode(y, 2));
    expect(made.map((row) => row.podcast_guid)).toEqual([x, x, x]);
    expect((await ann.episodes()).total).toBe(2);
  });

  test('of which several match one are all merged into it', async () => {
    const { ann, x, y } = await userWithTwo();
    const played_status = { value: true, timestamp: minute(1) };
    const same = { enclosure_url: 'https://media.example/same.mp3' };
    await ann.upload(
      episode(x, 1, { ...same, episode_guid: '' }),
      episode(y, 2, { ...same }),
      episode(y, 3, { ...same, played_status }),
    );
    expect((await ann.episodes()).total).toBe(3);
    await ann.update(x, { new_feed_url: urlY });
    const { episodes } = await ann.episodes();
    expect(episodes.every((row) => row.podcast_guid === x)).toBe(true);
    expect(episodes.filter((row) => row.played_status?.value)).toHaveLength(1);
  });

  test('never merge across subscriptions that stay two', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.upload(episode(x, 1), episode(y, 1));
    expect((await ann.episodes()).total).toBe(2);
  });
});
