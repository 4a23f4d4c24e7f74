import { describe, expect, test } from 'vitest';
import { expectError } from './http.js';
import { feed, newGuid } from './samples.js';
import { User } from './user.js';

const [urlX, urlY, urlZ] = [feed('x'), feed('y'), feed('z')];

/** Two subscriptions: X, which a PATCH names in its path, and Y, which is merged into it. */
async function userWithTwo() {
  const ann = await User.fresh();
  const [x, y] = [newGuid(), newGuid()];
  await ann.subscribe({ feed_url: urlX, guid: x }, { feed_url: urlY, guid: y });
  return { ann, x, y, sync: (await ann.subscriptions()).sync };
}

describe('PATCH new_guid equal to a guid of another subscription merges that one into the one in the path, which', () => {
  test('lives on under that guid and keeps its feed_url', async () => {
    const { ann, x, y } = await userWithTwo();
    const { guid_changed } = await ann.update(x, { new_guid: y });
    expect(await ann.subscription(y)).toMatchObject({ guid: y, feed_url: urlX });
    expect(await ann.subscription(x)).toMatchObject({ guid: x, new_guid: y, guid_changed, feed_url: urlX });
  });

  test('is the only row of the list, as the pointer would say that a guid is itself', async () => {
    const { ann, x, y } = await userWithTwo();
    const { guid_changed } = await ann.update(x, { new_guid: y });
    const { total, subscriptions } = await ann.subscriptions();
    expect({ total, subscriptions }).toMatchObject({
      total: 1,
      subscriptions: [{ guid: x, new_guid: y, guid_changed }],
    });
  });

  test('owns all guids and URLs of both', async () => {
    const { ann, x, y } = await userWithTwo();
    const older = newGuid();
    await ann.update(y, { new_feed_url: urlZ, new_guid: older });
    await ann.update(x, { new_guid: y });
    for (const url of [urlX, urlY, urlZ]) expect(await ann.subscribed(url)).toBe(y);
    for (const guid of [x, older]) expect(await ann.subscription(guid)).toMatchObject({ guid, new_guid: y });
    expect((await ann.subscription(y)).feed_url).toBe(urlX);
  });

  test('is found by a former guid of the other, too', async () => {
    const { ann, x, y } = await userWithTwo();
    const renamed = newGuid();
    await ann.update(y, { new_guid: renamed });
    await ann.update(x, { new_guid: y });
    for (const guid of [x, renamed]) expect(await ann.subscription(guid)).toMatchObject({ guid, new_guid: y });
  });
});

describe('PATCH new_feed_url', () => {
  test("equal to another's current URL merges that one into the one in the path", async () => {
    const { ann, x, y } = await userWithTwo();
    const { subscription_changed } = await ann.update(x, { new_feed_url: urlY });
    const survivor = { guid: x, feed_url: urlY, is_subscribed: true, subscription_changed };
    expect(await ann.subscription(x)).toEqual(survivor);
    expect(await ann.subscription(y)).toMatchObject({ ...survivor, guid: y, new_guid: x });
    expect(await ann.subscribed(urlX)).toBe(x);
  });

  test("equal to another's former URL passes over, and that one stays", async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(y, { new_feed_url: urlZ });
    await ann.update(x, { new_feed_url: urlY });
    expect(await ann.subscription(x)).toMatchObject({ guid: x, feed_url: urlY });
    expect(await ann.subscription(y)).toMatchObject({ guid: y, feed_url: urlZ });
    expect(await ann.subscribed(urlY)).toBe(x);
    expect((await ann.subscriptions()).total).toBe(2);
  });

  test('and new_guid may name two different ones: both are merged', async () => {
    const { ann, x, y } = await userWithTwo();
    const z = await ann.subscribed(urlZ, newGuid());
    await ann.update(x, { new_guid: y, new_feed_url: urlZ });
    expect(await ann.subscription(y)).toMatchObject({ guid: y, feed_url: urlZ });
    for (const guid of [x, z]) expect(await ann.subscription(guid)).toMatchObject({ guid, new_guid: y });
    for (const url of [urlX, urlY, urlZ]) expect(await ann.subscribed(url)).toBe(y);
  });

  test('and new_guid may name the same one', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(x, { new_guid: y, new_feed_url: urlY });
    expect(await ann.subscription(y)).toMatchObject({ guid: y, feed_url: urlY });
    expect((await ann.subscriptions()).total).toBe(1);
  });
});

describe('after a merge is_subscribed', () => {
  test.each([
    [true, true, true],
    [true, false, true],
    [false, true, true],
    [false, false, false],
  ])('of %s and %s is %s when it was not sent', async (ofX, ofY, merged) => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(x, { is_subscribed: ofX });
    await ann.update(y, { is_subscribed: ofY });
    const before = (await ann.subscription(x)).subscription_changed;
    const { guid_changed } = await ann.update(x, { new_guid: y });
    const { is_subscribed, subscription_changed } = await ann.subscription(y);
    // Stamped if that changes it.
    expect({ is_subscribed, subscription_changed }).toEqual({
      is_subscribed: merged,
      subscription_changed: merged === ofX ? before : guid_changed,
    });
  });

  test('is what was sent', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(x, { new_guid: y, is_subscribed: false });
    expect((await ann.subscription(y)).is_subscribed).toBe(false);
  });

  test('does not come from a tombstone, whose names pass over all the same', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(x, { is_subscribed: false });
    await ann.deleted(y);
    await ann.update(x, { new_guid: y });
    expect(await ann.subscription(y)).toMatchObject({ guid: y, feed_url: urlX, is_subscribed: false });
    expect(await ann.subscription(y)).not.toHaveProperty('deleted');
    expect(await ann.subscribed(urlY)).toBe(y);
  });
});

describe('a merged subscription remains in the lists as a pointer', () => {
  const pointer = async (ann: User, guid: string, since?: string) =>
    (await ann.subscriptions(since === undefined ? {} : { since })).subscriptions.find((row) => row.guid === guid);

  test("with its own guid, the survivor's as new_guid, the merge as guid_changed, and all else the survivor's", async () => {
    const { ann, x, y, sync } = await userWithTwo();
    const { subscription_changed } = await ann.update(x, { new_feed_url: urlY });
    const survivor = { feed_url: urlY, is_subscribed: true, subscription_changed };
    const { total, subscriptions } = await ann.subscriptions({ since: sync });
    expect({ total, subscriptions }).toEqual({
      total: 2,
      subscriptions: [
        { ...survivor, guid: x },
        { ...survivor, guid: y, new_guid: x, guid_changed: subscription_changed },
      ],
    });
  });

  test('while the merge is later than since, and always without since', async () => {
    const { ann, x, y, sync } = await userWithTwo();
    const merge = (await ann.update(x, { new_feed_url: urlY })).subscription_changed;
    await ann.update(x, { is_subscribed: false });
    expect(await pointer(ann, y, sync)).toMatchObject({ new_guid: x, is_subscribed: false });
    expect(await pointer(ann, y, merge)).toBeUndefined();
    expect(await pointer(ann, y)).toMatchObject({ new_guid: x, is_subscribed: false });
    expect((await ann.subscriptions({ since: merge ?? '' })).total).toBe(1);
    expect((await ann.subscriptions()).total).toBe(2);
  });

  test('under the guid it had at since', async () => {
    const { ann, x, y, sync } = await userWithTwo();
    const renamed = newGuid();
    const between = (await ann.update(y, { new_guid: renamed })).guid_changed;
    await ann.update(x, { new_feed_url: urlY });
    expect(await pointer(ann, y)).toMatchObject({ new_guid: x });
    expect(await pointer(ann, y, sync)).toMatchObject({ new_guid: x });
    expect(await pointer(ann, renamed, between)).toMatchObject({ new_guid: x });
  });

  test("that follows the survivor's guid: guid_changed is the later of the two", async () => {
    const { ann, x, y, sync } = await userWithTwo();
    await ann.update(x, { new_feed_url: urlY });
    const renamed = newGuid();
    const { guid_changed } = await ann.update(x, { new_guid: renamed });
    expect(await pointer(ann, y, sync)).toMatchObject({ new_guid: renamed, guid_changed });
    expect(await pointer(ann, y)).toMatchObject({ new_guid: renamed, guid_changed });
  });

  test('that is left out while its guid is the current one of the survivor', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(x, { new_feed_url: urlY });
    await ann.update(x, { new_guid: y });
    expect((await ann.subscriptions()).total).toBe(1);
    await ann.update(y, { new_guid: x });
    expect((await ann.subscriptions()).total).toBe(2);
    expect(await pointer(ann, y)).toMatchObject({ new_guid: x });
  });

  test('to the last survivor when that one is merged as well', async () => {
    const { ann, x, y } = await userWithTwo();
    const z = await ann.subscribed(urlZ, newGuid());
    await ann.update(x, { new_feed_url: urlY });
    const before = await ann.subscriptions();
    await ann.update(z, { new_feed_url: urlY });
    for (const guid of [x, y]) expect(await pointer(ann, guid)).toMatchObject({ new_guid: z, feed_url: urlY });
    for (const guid of [x, y]) expect(await ann.subscription(guid)).toMatchObject({ guid, new_guid: z });
    expect((await ann.subscriptions({ since: before.sync })).subscriptions.map((row) => row.guid)).toContain(x);
  });

  test('to a tombstone when the survivor is deleted', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(x, { new_feed_url: urlY });
    await ann.deleted(y);
    expectError(await ann.get(`/subscriptions/${x}`), 410);
    expectError(await ann.get(`/subscriptions/${y}`), 410);
    const { deleted } = (await pointer(ann, x)) ?? {};
    expect(await pointer(ann, y)).toMatchObject({
      new_guid: x,
      is_subscribed: false,
      deleted,
      subscription_changed: deleted,
    });
    expect(await ann.subscribed(urlX)).toBe(x);
    expect(await pointer(ann, y)).not.toHaveProperty('deleted');
  });
});
