import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { beginLogin, checkCredential, revokeCredential } from '#contracts';
import { appPasswordHash } from '#identity';
import { Fixture } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openServiceClient } from '../../testing/service-client.js';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from '../people/accounts.js';
import { Sweep } from '../sweep.js';
import { AppPasswords } from './app-passwords.js';
import { type LoginResult, LoginFlows } from './login-flows.js';

let people: PeopleFixture;
let flows: LoginFlows;
let accountId: string;
let name: string;

beforeAll(async () => {
  people = await openPeople();
  flows = people.app.get(LoginFlows);
});
afterAll(() => people.close());
beforeEach(async () => {
  name = `ann-${randomUUID()}`;
  accountId = (await people.app.get(Accounts).create({ name })).id;
});

const token = () => randomBytes(48).toString('base64url');
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
let network = 0;
/** Returns a login request from a new network, with its login token and poll token. */
function asking(address = `10.1.${(network += 1)}.1`) {
  const [poll, login] = [token(), token()];
  const server = 'https://sync.example/gpodder';
  return {
    poll,
    login,
    request: {
      pollHash: sha256(poll),
      loginHash: sha256(login),
      userAgent: 'AntennaPod/3',
      address,
      server,
    },
  };
}
async function started(address?: string) {
  const asked = asking(address);
  return { ...asked, urls: await flows.startFlow(asked.request) };
}
const hashOf = (answer: LoginResult | undefined) =>
  appPasswordHash(answer?.appPassword ?? '') as string;
const check = (answer: LoginResult | undefined) =>
  people.app.get(AppPasswords).findAndRecordUse(hashOf(answer));
/** Backdates the responses of all flows. */
const age = (interval: string) =>
  people.owner.query(
    `UPDATE account.logins
     SET answered_at = answered_at - $1::interval, expires_at = expires_at - $1::interval`,
    [interval],
  );

describe('a login flow', () => {
  it('returns an app password with the name of the app after approval', async () => {
    const { poll, login, urls } = await started();
    expect(urls).toEqual({
      login: 'https://accounts.example/login/v2/flow/',
      endpoint: 'https://accounts.example/login/v2/poll',
    });
    expect(await flows.poll(poll)).toBeUndefined();
    expect(await flows.findOpenFlow(login)).toMatchObject({
      label: 'AntennaPod',
      createdAt: expect.any(Date),
    });
    expect(await flows.approve(login, accountId)).toBe(true);
    const answer = await flows.poll(poll);
    expect(answer).toMatchObject({ server: 'https://sync.example/gpodder', loginName: name });
    expect(await check(answer)).toMatchObject({
      userId: accountId,
      scopes: expect.arrayContaining(['write:subscriptions']),
    });
    expect(await people.app.get(AppPasswords).list(accountId)).toMatchObject([
      { label: 'AntennaPod', isApp: true },
    ]);
  });

  it('stores only hashes of its tokens', async () => {
    const { poll, login } = await started();
    const { rows } = await people.owner.query('SELECT l::text AS row FROM account.logins l');
    for (const secret of [poll, login]) expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it('replaces the app password if the app polls again within a minute', async () => {
    const { poll, login } = await started();
    await flows.approve(login, accountId);
    const lost = await flows.poll(poll);
    const { credentialId = '' } = (await check(lost)) ?? {};
    const again = await flows.poll(poll);
    expect([await check(lost), (await check(again))?.userId]).toEqual([null, accountId]);
    expect(await people.revoked()).toContain(`credential:${credentialId}`);
    expect(await people.app.get(AppPasswords).list(accountId)).toHaveLength(1);
  });

  it('ends if the app password was revoked before the app polls again', async () => {
    const { poll, login } = await started();
    await flows.approve(login, accountId);
    const { credentialId = '' } = (await check(await flows.poll(poll))) ?? {};
    const appPasswords = people.app.get(AppPasswords);
    expect(await appPasswords.revoke(accountId, credentialId)).toBe(true);
    expect([await flows.poll(poll), await flows.poll(poll)]).toEqual([undefined, undefined]);
    expect(await appPasswords.list(accountId)).toEqual([]);
    const { rows } = await people.owner.query('SELECT FROM account.logins WHERE account_id = $1', [
      accountId,
    ]);
    expect(rows).toEqual([]);
  });

  it('returns nothing after that minute, which repeated polls do not extend', async () => {
    const { poll, login } = await started();
    await flows.approve(login, accountId);
    await flows.poll(poll);
    await age('50 seconds');
    const last = await flows.poll(poll);
    await age('50 seconds');
    expect(await flows.poll(poll)).toBeUndefined();
    expect(await check(last)).toMatchObject({ userId: accountId });
  });

  it('creates one app password for concurrent polls', async () => {
    const { poll, login } = await started();
    await flows.approve(login, accountId);
    const answers = await Promise.all(Array.from({ length: 20 }, () => flows.poll(poll)));
    const valid = (await Promise.all(answers.map(check))).filter(Boolean);
    expect([valid.length, (await people.app.get(AppPasswords).list(accountId)).length]).toEqual([
      1, 1,
    ]);
  });

  it('is approved once, and not after a denial', async () => {
    const other = await people.app.get(Accounts).create({ name: `o-${randomUUID()}` });
    const { login } = await started();
    const allowed = await Promise.all([
      flows.approve(login, accountId),
      flows.approve(login, other.id),
    ]);
    expect(allowed.filter(Boolean)).toHaveLength(1);
    const denied = await started();
    expect(await flows.deny(denied.login)).toBe(true);
    expect([
      await flows.approve(denied.login, accountId),
      await flows.findOpenFlow(denied.login),
    ]).toEqual([false, undefined]);
    expect(await flows.poll(denied.poll)).toBeUndefined();
  });

  it('returns nothing for an account that is disabled or has no name', async () => {
    const { id } = await people.app
      .get(Accounts)
      .findOrCreateByProvider('https://id.example', randomUUID(), randomUUID());
    const { poll, login } = await started();
    expect(await outcomeOf(flows.approve(login, id))).toBe('name_needed');
    await flows.approve(login, accountId);
    await people.app.get(Accounts).disable(accountId);
    expect(await flows.poll(poll)).toBeUndefined();
  });

  it('starts once if its message arrives twice', async () => {
    const { request, login } = await started();
    await flows.startFlow(request);
    expect(await flows.approve(login, accountId)).toBe(true);
  });

  it('expires after 20 minutes and is then deleted', async () => {
    const { poll, login } = await started();
    await age('20 minutes');
    expect([
      await flows.findOpenFlow(login),
      await flows.approve(login, accountId),
      await flows.poll(poll),
    ]).toEqual([undefined, false, undefined]);
    await people.app.get(Sweep).sweep();
    const { rows } = await people.owner.query(
      'SELECT count(*)::int FROM account.logins WHERE expires_at <= now()',
    );
    expect(rows).toEqual([{ count: 0 }]);
  });

  it.each(['', 'x', "'; --", 'ä'.repeat(64), 'x'.repeat(257)])(
    'is not found by %j',
    async (text) => {
      expect([
        await flows.findOpenFlow(text),
        await flows.deny(text),
        await flows.poll(text),
      ]).toEqual([undefined, false, undefined]);
    },
  );
});

describe('a running account app', () => {
  const fixture = new Fixture();
  let { owner, client } = {} as Awaited<ReturnType<typeof openServiceClient>>;
  let origin: string;

  beforeAll(async () => {
    const { stack, ...messages } = await openServiceClient(fixture);
    ({ owner, client } = messages);
    origin = `http://127.0.0.1:${String(stack.app('account').facts['port'])}`;
  });
  afterAll(() => fixture.close());

  const poll = (body: string, type: string) =>
    fetch(`${origin}/login/v2/poll`, { method: 'POST', body, headers: { 'content-type': type } });
  const asForm = (of: string) => poll(`token=${of}`, 'application/x-www-form-urlencoded');

  it('starts a flow by a message, answers polls, and revokes the app password', async () => {
    const asked = asking();
    const send = { requestId: randomUUID() };
    await client.call(beginLogin, asked.request, send);
    const before = await asForm(asked.poll);
    expect([before.status, before.headers.get('cache-control')]).toEqual([404, 'no-store']);
    await owner.query(`INSERT INTO account.accounts (id, name) VALUES ($1, $2)`, [accountId, name]);
    const allow = 'UPDATE account.logins SET account_id = $1 WHERE poll_hash = $2';
    await owner.query(allow, [accountId, Buffer.from(asked.request.pollHash, 'base64url')]);
    const first = await asForm(asked.poll);
    expect([first.status, await first.json()]).toEqual([
      200,
      expect.objectContaining({ loginName: name }),
    ]);
    const second = await poll(JSON.stringify({ token: asked.poll }), 'application/json');
    const hash = hashOf((await second.json()) as LoginResult);
    const { credential } = await client.call(checkCredential, { hash }, send);
    expect(credential).toMatchObject({ userId: accountId });
    const { credentialId } = credential!;
    expect(await client.call(revokeCredential, { credentialId }, send)).toEqual({ revoked: true });
    expect(await client.call(checkCredential, { hash }, send)).toEqual({ credential: null });
  });

  it.each([
    ['an empty body', ''],
    ['no token', 'a=b'],
    ['two tokens', 'token=a&token=b'],
    ['a long token', `token=${'x'.repeat(1_000)}`],
  ])('answers 404 to %s', async (_case, body) => {
    expect((await poll(body, 'application/x-www-form-urlencoded')).status).toBe(404);
  });
});
