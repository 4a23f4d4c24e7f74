import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beginLogin } from '#contracts';
import { StreamClient } from '#transport';
import { createLog } from '#runtime';
import { callProgram, eventually, LaunchedSystem } from '#testing';
import { Redis } from 'ioredis';
import * as client from 'openid-client';
import { Secret, TOTP } from 'otpauth';
import pg from 'pg';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { podcastSync } from '../../apps/cli/src/podcast-sync.js';
import { authorizationRequest, redirectUri } from '../../apps/account/testing/app-client.js';
import { Person, shownSecret } from './testing/person.js';

let root: string;
let system: LaunchedSystem;
let redis: Redis;
let monitor: Socket;
let mailServer: SMTPServer;
/** Mails that have arrived. */
const mails: string[] = [];
/** All commands that Redis received. */
let commands = '';
/** Secrets that must not be found, by kind. */
const secrets: Record<string, string[]> = {};

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'secrets-'));
  // Reachable for the user that Postgres runs as when root runs the tests.
  chmodSync(root, 0o711);
  mailServer = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      void text(stream).then((mail) => {
        mails.push(mail);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => mailServer.listen(0, '127.0.0.1', resolve));
  const { port } = mailServer.server.address() as AddressInfo;
  const environment = { SMTP_URL: `smtp://127.0.0.1:${port}` };
  system = await LaunchedSystem.start({ data: join(root, 'data'), environment });
  const url = new URL(readFileSync(join(root, 'data', 'redis-url'), 'utf8').trim());
  redis = new Redis(url.href);
  // ioredis fails if the first command arrives together with the answer to MONITOR.
  monitor = connect(Number(url.port), url.hostname);
  monitor.on('data', (data: Buffer) => (commands += data.toString('latin1')));
  monitor.write(`AUTH ${url.password}\r\nMONITOR\r\n`);
  await eventually(() => assert.match(commands, /^\+OK\r\n\+OK\r\n/));
});
afterAll(async () => {
  monitor?.destroy();
  redis?.disconnect();
  await system?.stop();
  await new Promise<void>((resolve) => mailServer.close(() => resolve()));
  rmSync(root, { recursive: true, force: true });
});

const password = 'a sentence that nobody guesses';
const hashOf = (secret: string) => createHash('sha256').update(secret).digest('base64url');
const status = async (token: string) =>
  (
    await fetch(`${system.baseUrl}/subscriptions`, {
      headers: { authorization: `Bearer ${token}` },
    })
  ).status;

async function issuer<Answer = Record<string, string>>(
  path: string,
  form: Record<string, string>,
): Promise<Answer> {
  const answer = await fetch(system.baseUrl + path, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  return (await answer.json()) as Answer;
}

/** Creates an account, signs in with wrong and right passwords, and adds a second factor. */
async function signInAndSecure(person: Person): Promise<void> {
  await person.submit(new URL(system.firstLink).pathname, { name: 'ann', password });
  await person.submit('/sign-in', { name: 'ann', password: 'a wrong one, but long' });
  await person.submit('/sign-in', { name: 'ann', password });
  const key = shownSecret(await person.read('/totp')).replaceAll(' ', '');
  await person.submit('/totp', { code: new TOTP({ secret: Secret.fromBase32(key) }).generate() });
  const page = await person.submit('/recovery-codes', {});
  const codes = [...page.matchAll(/<li[^>]*>([^<]+)<\/li>/g)].map(([, code]) =>
    (code ?? '').trim(),
  );
  Object.assign(secrets, { password: [password], key: [key], cookies: person.cookies });
  secrets['link'] = [new URL(system.firstLink).pathname.split('/').at(-1) ?? ''];
  secrets['codes'] = codes
    .filter((code) => code.length >= 16)
    .flatMap((code) => [code, code.replaceAll('-', '')]);
}

/** Verifies an address of the person by the link in a mail. */
async function proveAddress(person: Person): Promise<void> {
  await person.submit('/email', { email: 'ann@example.com' });
  const path = await eventually(() => {
    const [, found] = /(\/links\/[\w-]{43})/.exec((mails[0] ?? '').replaceAll('=\r\n', '')) ?? [];
    if (found === undefined) throw new Error('no mail arrived');
    return found;
  });
  await person.submit(path, {});
  expect(await person.read('/account')).toContain('ann@example.com');
  secrets['link of a mail'] = [path.split('/').at(-1) ?? ''];
  secrets['address'] = ['ann@example.com'];
}

/** An app password by the page, used at the gateway; a wrong one, too. */
async function useAppPassword(person: Person): Promise<void> {
  const made = shownSecret(
    await person.submit('/app-passwords', { label: 'a phone', rights: 'all', expires: 'never' }),
  );
  expect([await status(made), await status(`${made}_`)]).toEqual([200, 401]);
  secrets['app password'] = [made];
}

/** A device code that the person allows, a refresh, and its end. */
async function useDevice(person: Person): Promise<void> {
  const app = { client_id: 'podcast-sync-cli' };
  const device = await issuer('/device/auth', {
    ...app,
    scope: 'openid offline_access read:subscriptions',
  });
  const { device_code = '', user_code = '' } = device;
  await person.submit('/device', { user_code, decision: 'allow' });
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  const first = await issuer('/token', { ...app, grant_type, device_code });
  const { refresh_token = '' } = first;
  const second = await issuer('/token', { ...app, grant_type: 'refresh_token', refresh_token });
  expect([
    await status(first['access_token'] ?? ''),
    await status(second['access_token'] ?? ''),
  ]).toEqual([200, 200]);
  const tokens = [first, second].flatMap((each) => [
    each['access_token'] ?? '',
    each['refresh_token'] ?? '',
  ]);
  Object.assign(secrets, { 'device code': [device_code], 'user code': [user_code], tokens });
}

/** A login flow as a facade begins it, allowed and polled. */
async function useLoginFlow(person: Person): Promise<void> {
  const [poll, login] = [
    randomBytes(32).toString('base64url'),
    randomBytes(32).toString('base64url'),
  ] as const;
  const services = new StreamClient({
    connect: () => redis.duplicate(),
    log: createLog('test', 'silent'),
    services: ['account'],
  });
  await services.connect();
  const request = {
    pollHash: hashOf(poll),
    loginHash: hashOf(login),
    userAgent: 'An app',
    address: '192.0.2.1',
  };
  await services.call(
    beginLogin,
    { ...request, server: system.baseUrl },
    { requestId: 'login-flow' },
  );
  await services.close();
  await person.submit(`/login/v2/flow/${login}`, { decision: 'allow' });
  const { appPassword = '' } = await issuer('/login/v2/poll', { token: poll });
  expect(await status(appPassword)).toBe(200);
  secrets['login flow'] = [poll, login, appPassword];
}

/** Registers an app, and signs in by code and PKCE. */
async function useApp(person: Person): Promise<void> {
  const insecure = { execute: [client.allowInsecureRequests] };
  const metadata = {
    client_name: 'An app',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
  };
  const app = await client.dynamicClientRegistration(
    new URL(system.baseUrl),
    metadata,
    client.None(),
    insecure,
  );
  const { url, checks } = await authorizationRequest(app, { resource: system.baseUrl });
  const asked = await person.follow(url.href);
  const page = await person.submit(asked.pathname, { decision: 'allow' });
  const onward = /(?:href|url)="?[^"]*?(\/auth\/[\w-]+)/i.exec(page)?.[1] ?? '';
  const answer = await person.follow(onward);
  const tokens = await client.authorizationCodeGrant(app, answer, checks);
  expect(await status(tokens.access_token)).toBe(200);
  secrets['code'] = [answer.searchParams.get('code') ?? '', checks.pkceCodeVerifier];
  secrets['tokens of an app'] = [tokens.access_token, tokens.refresh_token ?? ''];
}

/** Runs an operator's command on the data of the system. */
async function operate(...args: string[]): Promise<string> {
  const all = [...args, '--data', join(root, 'data')];
  const { stdout, stderr } = await callProgram(podcastSync, all, {});
  expect(stderr).toBe('');
  return stdout.trim();
}

/** Returns the path of a link that an operator creates. */
const operatorsLink = async (...args: string[]) =>
  new URL(await operate('accounts', ...args)).pathname;

/** Creates an operator's links and the output of `podcast-sync token`. */
async function useOperatorsLinks(): Promise<void> {
  const person = new Person(system.baseUrl);
  const invitation = await operatorsLink('invite');
  await person.submit(invitation, { name: 'ben', password: `${password} of ben` });
  const reset = await operatorsLink('reset', 'ben');
  await person.submit(reset, { password: `${password} of ben, a new one` });
  secrets['links'] = [invitation, reset].map((path) => path.split('/').at(-1) ?? '');
  secrets['passwords of ben'] = [`${password} of ben`, `${password} of ben, a new one`];
  const token = await operate('token', 'ann');
  expect(await status(token)).toBe(200);
  secrets['podcast-sync token'] = [token];
}

it('no secret of people or apps crosses Redis in clear', async () => {
  const person = new Person(system.baseUrl);
  await signInAndSecure(person);
  await proveAddress(person);
  await useAppPassword(person);
  await useDevice(person);
  await useApp(person);
  await useOperatorsLinks();
  await useLoginFlow(person);
  // The last revocation was received, so all earlier ones were.
  const last = hashOf(secrets['login flow']?.[2] ?? '');
  await eventually(() => expect(commands.includes(last)).toBe(true));

  const all = Object.entries(secrets);
  expect(
    all.map(([what, values]) => [
      what,
      values.length > 0 && values.every((value) => value.length >= 8),
    ]),
  ).toEqual(all.map(([what]) => [what, true]));
  const forms = (value: string) =>
    [
      value,
      encodeURIComponent(value),
      Buffer.from(value).toString('base64'),
      Buffer.from(value).toString('base64url'),
      Buffer.from(value).toString('hex'),
    ].map((form) => form.replace(/=+$/, ''));
  const found = all.filter(([, values]) =>
    values.some((value) => forms(value).some((form) => commands.includes(form))),
  );
  expect(found.map(([what]) => what)).toEqual([]);
});

/** Words in the data of the user, by what they name. No other text contains them. */
const words = {
  name: 'annabel7f3',
  'password of a feed': 'feedword8c1',
  feed: 'feedpath5d2',
  title: 'episodetitle9e4',
  device: 'phonedevice2b6',
  caption: 'devicecaption4a8',
  setting: 'settingvalue1c9',
};
const feed = `https://ann:${words['password of a feed']}@feeds.example/${words.feed}`;

/** Returns the words in files below a folder of the data directory, and in their names. */
function foundIn(folder: string): string[] {
  const files = readdirSync(join(root, 'data', folder), { recursive: true, withFileTypes: true });
  const contents = files
    .filter((file) => file.isFile())
    .map((file) => file.name + readFileSync(join(file.parentPath, file.name), 'latin1'));
  return Object.entries(words)
    .filter(([, word]) => contents.some((content) => content.includes(word)))
    .map(([what]) => what);
}

/** Sends requests with every word by both APIs, some of them refused. */
async function useEverything(appPassword: string): Promise<void> {
  const { name, device, caption, setting, title } = words;
  const basic = `Basic ${Buffer.from(`${name}:${appPassword}`).toString('base64')}`;
  const send = async (method: string, path: string, body?: unknown, authorization = basic) => {
    const answer = await fetch(system.baseUrl + path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return answer.status;
  };
  const bearer = `Bearer ${appPassword}`;
  const episode = { podcast: feed, episode: `${feed}/1`, action: 'new', device };
  const own = { feed_url: feed, guid: '8d6ba0a2-6a3e-5a0c-9a9e-6c1d7c6c2c11' };
  const states = { podcast_guid: own.guid, episode_guid: 'one', title };
  expect([
    await send('POST', '/subscriptions', { subscriptions: [own] }, bearer),
    await send('POST', '/episodes', { episodes: [states] }, bearer),
    await send('POST', `/api/2/devices/${name}/${device}.json`, { caption, type: 'mobile' }),
    await send('POST', `/api/2/subscriptions/${name}/${device}.json`, { add: [feed], remove: [] }),
    await send('POST', `/api/2/episodes/${name}.json`, [episode]),
    await send('POST', `/api/2/settings/${name}/account.json`, { set: { word: setting } }),
    await send('GET', `/api/2/devices/${name}.json`),
    await send('GET', `/subscriptions/${encodeURIComponent(feed)}`, undefined, bearer),
    await send('GET', `/feeds/${encodeURIComponent(feed)}`, undefined, bearer),
  ]).toEqual([200, 200, 200, 200, 200, 200, 200, 405, 404]);
}

it('an erased user is in no file of Redis, and no user is in a log', async () => {
  const person = new Person(system.baseUrl);
  await person.submit(await operatorsLink('invite'), { name: words.name, password });
  await person.submit('/sign-in', { name: words.name, password });
  const form = { label: 'a phone', rights: 'all', expires: 'never' };
  await useEverything(shownSecret(await person.submit('/app-passwords', form)));

  expect(foundIn('redis')).toEqual(expect.arrayContaining(['feed', 'title', 'setting']));
  const owner = new pg.Client(
    readFileSync(join(root, 'data', 'account-database-url'), 'utf8').trim(),
  );
  await owner.connect();
  const { rows } = await owner.query<{ id: string }>(
    'SELECT id FROM account.accounts WHERE name = $1',
    [words.name],
  );
  await owner.end();
  const erase = ['erase', '--user', rows[0]?.id ?? '', '--data', join(root, 'data')];
  const { stdout } = await callProgram(podcastSync, erase, {});
  expect(stdout).toBe('1 of 1 users erased.\n');

  expect(foundIn('redis')).toEqual([]);
  expect(foundIn('logs')).toEqual([]);
  expect(readFileSync(join(root, 'data', 'postgres', 'postgres.log'), 'latin1')).not.toMatch(
    new RegExp(Object.values(words).join('|')),
  );
}, 120_000);
