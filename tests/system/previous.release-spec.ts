import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppStack, type Device, eventually } from '#testing';

const { TEST_PREVIOUS } = process.env;
if (!TEST_PREVIOUS)
  throw new Error(
    'TEST_PREVIOUS has to name the folder of a release that is built: see docs/design/teams.md',
  );
const previous = resolve(TEST_PREVIOUS);

const services = ['subscription', 'episode', 'deletion-worker'] as const;

/** One request of each kind, and a deletion to its end. @returns their statuses. */
async function everything(device: Device): Promise<number[]> {
  const subscriptions = [{ feed_url: 'https://podcast.example/1' }];
  const added = await device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', {
    body: { subscriptions },
  });
  const guid = added.body.success[0]!.guid;
  const path = `/subscriptions/${guid}`;
  const urls = {
    enclosure_url: 'https://podcast.example/1.mp3',
    episode_url: 'https://podcast.example/1',
  };
  const episode = {
    podcast_guid: guid,
    episode_guid: 'e',
    title: 't',
    publish_date: '2023-02-23T14:00:00Z',
    ...urls,
  };
  const answers = [
    added,
    await device.send('POST', '/episodes', { body: { episodes: [episode] } }),
    await device.send('PATCH', path, { body: { is_subscribed: false } }),
    await device.send('GET', path),
    await device.send('GET', '/subscriptions'),
    await device.send<{ total: number }>('GET', '/episodes'),
  ];
  expect(answers.at(-1)?.body).toMatchObject({ total: 1 });
  const deletion = await device.send<{ deletion_id: number }>('DELETE', path);
  await eventually(async () =>
    expect(
      (await device.send('GET', `/deletions/${deletion.body.deletion_id}`)).body,
    ).toMatchObject({
      status: 'SUCCESS',
    }),
  );
  return [...answers, deletion, await device.send('GET', path)].map(({ status }) => status);
}

describe('on the schema of this build', () => {
  let stack: AppStack;
  beforeAll(async () => void (stack = await AppStack.open()));
  afterAll(() => stack.close());

  it.each([
    ['the previous release', previous, previous],
    ['its services behind a gateway of this build', undefined, previous],
    ['its gateway before services of this build', previous, undefined],
  ])('serves %s', async (_what, gatewayRoot, serviceRoot) => {
    const [[gateway], behind] = await Promise.all([
      stack.start(['gateway'], {}, gatewayRoot),
      stack.start(services, {}, serviceRoot),
    ]);
    const device = await stack.device(gateway!);
    expect(await everything(device)).toEqual([200, 200, 200, 200, 200, 200, 202, 410]);
    for (const process of [gateway!, ...behind]) {
      expect(process.output).not.toMatch(/"level":"(error|fatal)"/);
      await process.stop();
    }
  });
});
