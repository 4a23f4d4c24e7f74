import { describe, expect, it } from 'vitest';
import { getSubscription, requestDeletion, subscribe, updateSubscription, uploadEpisodes } from '#contracts';
import { repeatedAnswer, writeAnswer } from './write.answers.js';

const guid = 'aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa';
const stamp = '2026-02-02T12:00:00.000Z';

describe('writeAnswer', () => {
  it('is 202 with deletion_id and the message of the semantics for DELETE', () => {
    expect(writeAnswer(requestDeletion, { deletionId: 7 })).toEqual({
      status: 202,
      body: { deletion_id: 7, message: 'Deletion request was received and will be processed' },
    });
  });

  it('is 200 for POST and PATCH, also when every entry failed', () => {
    const failed = { success: [], failure: [{ feedUrl: 'x', message: 'No protocol present' }] };
    expect(writeAnswer(subscribe, failed)).toEqual({
      status: 200,
      body: { success: [], failure: [{ feed_url: 'x', message: 'No protocol present' }] },
    });
    expect(writeAnswer(updateSubscription, { newGuid: guid, guidChanged: stamp })).toEqual({
      status: 200,
      body: { new_guid: guid, guid_changed: stamp },
    });
    expect(writeAnswer(uploadEpisodes, { success: [], failure: [{ temporaryId: 1, message: 'm' }] })).toEqual({
      status: 200,
      body: { success: [], failure: [{ temporary_id: 1, message: 'm' }] },
    });
  });

  it('is for writes only', () => {
    const read = { feedUrl: 'u', guid, isSubscribed: true };
    expect(() => writeAnswer(getSubscription, read)).toThrow('subscription.get is no write');
  });
});

describe('repeatedAnswer', () => {
  it('is the first answer under the key, as the first operation gave it', () => {
    expect(repeatedAnswer({ pattern: 'deletion.request', answer: { reply: { deletionId: 7 } } })).toMatchObject({
      status: 202,
      body: { deletion_id: 7 },
    });
    const reply = { isSubscribed: false, subscriptionChanged: stamp };
    expect(repeatedAnswer({ pattern: 'subscription.update', answer: { reply } })).toEqual({
      status: 200,
      body: { is_subscribed: false, subscription_changed: stamp },
    });
  });

  it('is the failure, where the first answer was one', () => {
    const first = { pattern: 'subscription.update', answer: { failure: { code: 'not_found' } } };
    expect(repeatedAnswer(first)).toMatchObject({ failure: { code: 'not_found' } });
  });

  it.each([
    undefined,
    { pattern: 'subscription.get', answer: { reply: {} } },
    { pattern: 'deletion.request', answer: null },
    { pattern: 'deletion.request', answer: { reply: { deletionId: 'x' } } },
  ])('is none where the first answer is not to be had: %j', (first) => {
    expect(repeatedAnswer(first)).toBeUndefined();
  });
});
