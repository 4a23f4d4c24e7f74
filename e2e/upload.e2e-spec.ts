import { describe, expect, test } from 'vitest';
import { guidForm } from './http.js';
import type { UploadAnswer } from './interface.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

// The *.rules.spec.ts of the episode app own the rules.

async function userWithOne(): Promise<{ ann: User; podcast: string }> {
  const ann = await User.fresh();
  return { ann, podcast: await ann.subscribed(feed(1), newGuid()) };
}

const at = (minute: number) => `2023-02-23T14:0${minute}`;

describe('POST /episodes', () => {
  test('answers with the whole episode as in GET /episodes', async () => {
    const { ann, podcast } = await userWithOne();
    const sent = episode(podcast, 1, {
      title: 'Ünïcode \u{1f399}  "',
      duration: 90.25,
      playback_position: { value: 12.5, timestamp: at(0) },
      played_status: { value: false, timestamp: at(1) },
      new_status: { value: false, timestamp: at(2) },
      download_status: { value: true, timestamp: at(3) },
      favorite_status: { value: true, timestamp: at(4) },
    });
    const made = await ann.uploaded(sent);
    expect(made).toEqual({ ...sent, sync_id: expect.stringMatching(guidForm) as string });
    expect((await ann.episodes()).episodes).toEqual([made]);
  });

  test('validates each entry separately and keeps their order', async () => {
    const { ann, podcast } = await userWithOne();
    const wrong = { ...episode(newGuid(), 2), sync_id: newGuid(), temporary_id: 't' };
    const episodes = [episode(podcast, 3), {}, episode(podcast, 1), null, wrong];
    const { body } = await ann.post<UploadAnswer>('/episodes', { episodes });
    expect(body.success.map((row) => row.title)).toEqual(['Title of 3', 'Title of 1']);
    const { podcast_guid, sync_id, episode_guid, enclosure_url, temporary_id } = wrong;
    const echo = { podcast_guid, sync_id, episode_guid, enclosure_url, temporary_id };
    const message = expect.stringMatching(/\S{3}/) as string;
    expect(body.failure).toEqual([
      { code: 'missing_identifier', message: 'podcast_guid is missing' },
      { code: 'invalid_value', message: 'An entry must be an object' },
      { ...echo, code: 'unknown_subscription', message },
    ]);
    expect((await ann.episodes()).total).toBe(2);
  });

  test('with the number 1e400 fails only that entry', async () => {
    const { ann, podcast } = await userWithOne();
    const playback_position = { value: 7, timestamp: at(0) };
    const episodes = [episode(podcast, 1, { playback_position })];
    const raw = JSON.stringify({ episodes }).replace('"value":7', '"value":1e400');
    const { status, body } = await ann.send<UploadAnswer>('POST', '/episodes', { raw });
    expect([status, body.success, body.failure.length]).toEqual([200, [], 1]);
  });
});
