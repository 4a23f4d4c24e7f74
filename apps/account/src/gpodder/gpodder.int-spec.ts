import { randomUUID } from 'node:crypto';
import {
  changeSettings,
  checkSession,
  endSession,
  Failure,
  findAccount,
  listDevices,
  revokeCredential,
  saveDevices,
} from '#contracts';
import { makeAppPassword } from '#identity';
import { Fixture } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openServiceClient } from '../../testing/service-client.js';

const fixture = new Fixture();
let { owner, client, send } = {} as Awaited<ReturnType<typeof openServiceClient>>;
let userId: string;
let name: string;

beforeAll(async () => {
  ({ owner, client, send } = await openServiceClient(fixture));
});
afterAll(() => fixture.close());
beforeEach(async () => {
  [userId, name] = [randomUUID(), `ann-${randomUUID()}`];
  await owner.query('INSERT INTO account.accounts (id, name) VALUES ($1, $2)', [userId, name]);
});

describe('messages to the account app', () => {
  it('return the user of a session until it or its app password ends', async () => {
    const { hash } = makeAppPassword();
    const [credentialId, sessionId, ended] = [randomUUID(), randomUUID(), randomUUID()];
    await owner.query(
      `INSERT INTO account.credentials (id, account_id, hash, label, scopes)
       VALUES ($1, $2, $3, 'x', '{read:subscriptions}')`,
      [credentialId, userId, Buffer.from(hash, 'base64url')],
    );
    const check = (id: string) =>
      client.call(checkSession, { sessionId: id, credentialId }, send());
    const credential = { credentialId, userId, name, scopes: ['read:subscriptions'] };
    for (const id of [sessionId, sessionId, ended]) expect(await check(id)).toEqual({ credential });
    const request = send();
    for (let time = 0; time < 2; time++)
      expect(await client.call(endSession, { sessionId: ended, credentialId }, request)).toEqual(
        {},
      );
    expect([await check(ended), await check(sessionId)]).toEqual([
      { credential: null },
      { credential },
    ]);
    await client.call(revokeCredential, { credentialId }, send());
    expect(await check(sessionId)).toEqual({ credential: null });
  });

  it('list devices and change their settings', async () => {
    const scope = { of: 'device' as const, id: 'phone' };
    const change = (set: Record<string, null>) =>
      client.call(changeSettings, { userId, scope, set, remove: [] }, send());
    await expect(change({ a: null })).rejects.toThrow(new Failure('not_found'));
    expect(
      await client.call(
        saveDevices,
        { userId, devices: [{ id: 'phone', type: 'mobile' }] },
        send(),
      ),
    ).toEqual({});
    expect(await client.call(listDevices, { userId }, send())).toEqual({
      devices: [{ id: 'phone', caption: '', type: 'mobile' }],
    });
    expect([await change({ a: null }), await change({})]).toEqual([
      { settings: { a: null } },
      { settings: { a: null } },
    ]);
  });

  it('find an account by name, ignoring letter case', async () => {
    expect(await client.call(findAccount, { name: name.toUpperCase() }, send())).toEqual({
      userId,
    });
    for (const unknown of [`${name}x`, '', "'; --", '\0'])
      expect(await client.call(findAccount, { name: unknown }, send())).toEqual({ userId: null });
  });
});
