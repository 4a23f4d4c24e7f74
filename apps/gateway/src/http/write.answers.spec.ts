import { describe, expect, it } from 'vitest';
import { getSubscription, JsonText, requestDeletion, subscribe, updateSubscription, uploadEpisodes } from '#contracts';
import { repeatedAnswer, writeAnswer } from './write.answers.js';

const guid = 'aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa';
const stamp = '2026-02-02T12:00:00.000Z';

describe('writeAnswer', () => {
  it('is 202 with deletion_id and a message for DELETE', () => {
    expect(writeAnswer(requestDeletion, { deletionId: 7 })).toEqual({
      status: 202,
      body: { deletion_id: 7, message: 'Deletion request was received and will be processed' },
    });
  });

  it('is 200 for POST and PATCH, also when every entry failed, and the JSON of the reply as it is', () => {
    const failed = {
      success: [],
      failure: [{ feed_url: 'x', code: 'invalid_url' as const, message: 'No protocol present' }],
    };
    const subscribed = JsonText.of(failed);
    const updated = JsonText.of({ new_guid: guid, guid_changed: stamp });
    const uploaded = JsonText.of({
      success: [],
      failure: [{ temporary_id: 1, code: 'invalid_value' as const, message: 'm' }],
    });
    const answers = [
      writeAnswer(subscribe, subscribed),
      writeAnswer(updateSubscription, updated),
      writeAnswer(uploadEpisodes, uploaded),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    [subscribed, updated, uploaded].forEach((reply, n) => expect(answers[n]?.body).toBe(reply));
  });

  it('is for writes only', () => {
    const read = JsonText.of({ feed_url: 'u', guid, is_subscribed: true });
    expect(() => writeAnswer(getSubscription, read)).toThrow('subscription.get is no write');
  });
});

describe('repeatedAnswer', () => {
  it('is the first answer under the key, as the first operation gave it', () => {
    expect(repeatedAnswer({ pattern: 'deletion.request', answer: { reply: { deletionId: 7 } } })).toMatchObject({
      status: 202,
      body: { deletion_id: 7 },
    });
    const json = { is_subscribed: false, subscription_changed: stamp };
    expect(repeatedAnswer({ pattern: 'subscription.update', answer: { json } })).toEqual({
      status: 200,
      body: JsonText.of(json),
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
    { pattern: 'deletion.request', answer: { json: { deletionId: 7 } } },
    { pattern: 'subscription.update', answer: { reply: { is_subscribed: false } } },
  ])('is none where the first answer is not to be had: %j', (first) => {
    expect(repeatedAnswer(first)).toBeUndefined();
  });
});
