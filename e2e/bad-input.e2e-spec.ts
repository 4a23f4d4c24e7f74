import { describe, expect, test } from 'vitest';
import { expectError } from './http.js';
import type { UploadAnswer } from './interface.js';
import { feed } from './samples.js';
import { User } from './user.js';

// tests/system/fuzz.int-spec.ts sends any other input.

describe('names that are special to JavaScript have no special effect:', () => {
  test.each(['__proto__', 'constructor', 'prototype'])('%s', async (name) => {
    const entry = `{"feed_url":"${feed(1)}","${name}":{"guid":"x"}}`;
    const raw = `{"subscriptions":[${entry}],"${name}":{"subscriptions":1}}`;
    const answer = await (
      await User.fresh()
    ).send<{ success: unknown[] }>('POST', '/subscriptions', { raw });
    expect([answer.status, answer.body.success.length]).toEqual([200, 1]);
  });

  test.each(['__proto__', 'constructor', 'prototype'])(
    '%s, in an entry of POST /episodes and its statuses',
    async (name) => {
      const status = '{"value":true,"timestamp":"2023-02-23T14:00"}';
      const more = `"${name}":{"title":"x","played_status":${status}}`;
      const valueless = `"new_status":{"${name}":{"value":true},"timestamp":"2023-02-23T14:00"}`;
      const bob = await User.fresh();
      const guid = await bob.subscribed();
      const entry = `{"podcast_guid":"${guid}","episode_guid":"${name}",${valueless},${more}}`;
      const answer = await bob.send<UploadAnswer>('POST', '/episodes', {
        raw: `{"episodes":[${entry}]}`,
      });
      const { podcast_guid, episode_guid, title, new_status, played_status } =
        answer.body.success[0] ?? {};
      const shown = { podcast_guid, episode_guid, title, new_status, played_status };
      expect(shown).toEqual({ podcast_guid: guid, episode_guid: name, title: '' });
    },
  );

  test('a deeply nested JSON is 405', async () => {
    const raw = `{"subscriptions":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const ann = await User.fresh();
    expectError(await ann.send('POST', '/subscriptions', { raw }), 405);
    const episodes = raw.replace('subscriptions', 'episodes');
    expectError(await ann.send('POST', '/episodes', { raw: episodes }), 405);
  });
});
