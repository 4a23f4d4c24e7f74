import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, eventually } from '#testing';
import { ErasedUser } from '../../apps/deletion-worker/testing/erased-user.js';

const full = Boolean(process.env.TEST_FULL);
/** More than fits into the buffers of a connection many times. */
const large = { episodes: full ? 20_000 : 3_000, bytesEach: 6_000 };

let stack: AppStack;
let owner: pg.Client;
let account: AppProcess;
let episode: AppProcess;
beforeAll(async () => {
  stack = await AppStack.open();
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
  [account, episode] = (await stack.start([
    'account',
    'episode',
    'subscription',
    'deletion-worker',
  ])) as [AppProcess, AppProcess];
});
afterAll(async () => {
  await owner.end();
  await stack.close();
});

/** Creates a user with rows in every table, and a signed-in browser. */
async function person(episodes?: number): Promise<{ user: ErasedUser; cookie: string }> {
  const user = await ErasedUser.store(owner, episodes === undefined ? {} : { episodes });
  const secret = randomBytes(32).toString('base64url');
  const values = [
    user.id,
    `$argon2id$${randomUUID()}`,
    randomBytes(40),
    createHash('sha256').update(secret).digest(),
  ];
  await owner.query(
    `WITH keys AS (
       UPDATE account.accounts
       SET password = $2, totp_secret = $3, totp_confirmed_at = now() WHERE id = $1
     )
     INSERT INTO account.sessions (hash, id, account_id, expires_at, address, user_agent)
     VALUES ($4, gen_random_uuid(), $1, '2100-01-01', '192.0.2.7', 'A browser')`,
    values,
  );
  const grant = `grant-${user.id}`;
  await owner.query(
    `INSERT INTO account.oidc (model, id, grant_id, account_id, payload, expires_at)
     SELECT model, sha256(($2 || model)::bytea), $2, $1,
       '{"clientId":"podcast-sync-cli","scope":"read:subscriptions"}', '2100-01-01'
     FROM unnest(ARRAY['Grant', 'RefreshToken']) model`,
    [user.id, grant],
  );
  return { user, cookie: `account-session=${secret}` };
}

function ask(cookie?: string, headers: Record<string, string> = {}): Promise<Response> {
  const url = `http://127.0.0.1:${String(account.facts['port'])}/export`;
  const own = {
    ...(cookie !== undefined && { cookie }),
    'accept-encoding': 'gzip, br',
    accept: 'text/html',
  };
  return fetch(url, { method: 'POST', headers: { ...own, ...headers }, redirect: 'manual' });
}

async function column(statement: string, id: string): Promise<string[]> {
  const { rows } = await owner.query<{ value: string }>(statement, [id]);
  return rows.map(({ value }) => value).sort();
}

/** Creates a user whose export exceeds all buffers. */
async function largePerson(episodes = 3_000): Promise<{ user: ErasedUser; cookie: string }> {
  const made = await person(episodes);
  await owner.query('UPDATE episode.episodes SET title = repeat($2, $3::int) WHERE user_id = $1', [
    made.user.id,
    'abcdefghij',
    large.bytesEach / 10,
  ]);
  return made;
}

/** Returns the rest after the {@link beginning}, and whether the connection broke. */
async function rest(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<{ text: string; isBroken: boolean }> {
  const pieces: Uint8Array[] = [];
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      pieces.push(next.value);
    return { text: Buffer.concat(pieces).toString(), isBroken: false };
  } catch {
    return { text: Buffer.concat(pieces).toString(), isBroken: true };
  }
}

async function beginning(answer: Response) {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const { value } = await reader.read();
  return { reader, text: Buffer.from(value ?? []).toString() };
}

/** A figure of a process' memory, in bytes. */
function memory(name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${account.pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1_024;
}

describe('an export', () => {
  it('is a file with everything that is kept of a person', async () => {
    const { user, cookie } = await person();
    const former = `https://${user.word}.example/former`;
    await owner.query(
      `UPDATE subscription.feed_urls SET url = $2 WHERE user_id = $1 AND url_sha256 = (
         SELECT min(url_sha256) FROM subscription.feed_urls WHERE user_id = $1)`,
      [user.id, former],
    );
    const answer = await ask(cookie);
    expect(answer.headers.get('content-disposition')).toBe(
      'attachment; filename="podcast-sync.json"',
    );
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const all = (await answer.json()) as Record<string, Record<string, unknown>[]>;
    const idsOf = (list: string, key: string) => all[list]?.map((item) => String(item[key])).sort();
    const { id } = user;
    expect(all['account']).toMatchObject({
      id,
      name: user.word,
      has_password: true,
      recovery_codes_left: 10,
    });
    expect(idsOf('subscriptions', 'feed_url')?.every((url) => url.includes(user.word))).toBe(true);
    const guids = `SELECT guid AS value FROM subscription.subscriptions
       WHERE user_id = $1 AND merged_into IS NULL`;
    const shown = JSON.stringify(all['subscriptions']);
    expect((await column(guids, id)).filter((guid) => !shown.includes(guid))).toEqual([]);
    expect(all['former_feed_urls']).toEqual([
      { former_feed_url: former, guid: expect.any(String) },
    ]);
    const formerGuids = `SELECT g.guid AS value FROM subscription.guids g
      JOIN subscription.subscriptions s ON s.user_id = g.user_id AND s.id = g.subscription_id
      WHERE g.user_id = $1 AND g.guid <> s.guid`;
    expect(idsOf('former_guids', 'former_guid')).toEqual(await column(formerGuids, id));
    expect(all['links']).toMatchObject([{ kind: 'reset', email: user.word }]);
    expect(all['login_flows']).toMatchObject([{ app: user.word, address: user.word }]);
    expect(all['notices']).toMatchObject([{ kind: 'app_password', label: user.word }]);
    expect(all['passkeys']).toHaveLength(20);
    expect(all['passkeys']?.[0]).toMatchObject({ label: user.word, transports: ['internal'] });
    const states = 'SELECT sync_id AS value FROM episode.states WHERE user_id = $1';
    expect(idsOf('episodes', 'sync_id')).toEqual(await column(states, id));
    const deletions = 'SELECT id::text AS value FROM deletion.deletions WHERE user_id = $1';
    expect(idsOf('deletions', 'deletion_id')).toEqual(await column(deletions, id));
    const sessions = 'SELECT id AS value FROM account.sessions WHERE account_id = $1';
    expect(idsOf('sessions', 'id')).toEqual(await column(sessions, id));
    const appPasswords = 'SELECT id AS value FROM account.credentials WHERE account_id = $1';
    expect(idsOf('app_passwords', 'id')).toEqual(await column(appPasswords, id));
    const devices = 'SELECT id AS value FROM account.devices WHERE account_id = $1';
    expect(idsOf('devices', 'id')).toEqual(await column(devices, id));
    const settings = 'SELECT subject AS value FROM account.settings WHERE account_id = $1';
    expect(idsOf('settings', 'id')).toEqual(await column(settings, id));
    expect(all['settings']?.[0]).toMatchObject({ of: 'device', settings: { [user.word]: 1 } });
    expect(idsOf('app_sessions', 'app_password')).toEqual(await column(appPasswords, id));
    expect(idsOf('apps', 'grant_id')).toEqual([`grant-${id}`]);
    const names = Object.values(all).flatMap((items) =>
      Array.isArray(items) ? items.flatMap(Object.keys) : [],
    );
    expect(names.filter((name) => /[A-Z]/.test(name))).toEqual([]);
  });

  it('holds no secret and no hash of one', async () => {
    const { user, cookie } = await person();
    const text = await (await ask(cookie)).text();
    const { rows } = await owner.query<{ secret: Buffer }>(
      `SELECT hash AS secret FROM account.sessions WHERE account_id = $1
       UNION ALL SELECT hash FROM account.credentials WHERE account_id = $1
       UNION ALL SELECT hash FROM account.recovery_codes WHERE account_id = $1
       UNION ALL SELECT id FROM account.passkeys WHERE account_id = $1
       UNION ALL SELECT public_key FROM account.passkeys WHERE account_id = $1
       UNION ALL SELECT hash FROM account.links WHERE account_id = $1
       UNION ALL SELECT poll_hash FROM account.logins WHERE account_id = $1
       UNION ALL SELECT login_hash FROM account.logins WHERE account_id = $1
       UNION ALL SELECT id FROM account.oidc WHERE account_id = $1
       UNION ALL SELECT uuid_send(id) FROM account.gpodder_sessions WHERE account_id = $1
       UNION ALL SELECT convert_to(id::text, 'UTF8')
       FROM account.gpodder_sessions WHERE account_id = $1
       UNION ALL SELECT totp_secret FROM account.accounts WHERE id = $1
       UNION ALL SELECT password::bytea FROM account.accounts WHERE id = $1`,
      [user.id],
    );
    expect(rows.length).toBeGreaterThan(25);
    const forms = (secret: Buffer) =>
      (['hex', 'base64', 'base64url', 'utf8'] as const).map((encoding) =>
        secret.toString(encoding),
      );
    // A Buffer in JSON is a list of its bytes.
    const listed = (secret: Buffer) => [...secret.subarray(0, 8)].join(',');
    const found = rows
      .flatMap(({ secret }) => [...forms(secret), listed(secret)])
      .filter((form) => text.includes(form));
    expect(found).toEqual([]);
    expect(text).not.toContain(cookie.split('=')[1]);
    expect(text).not.toMatch(/argon2|"hash"|"type":"Buffer"/);
  });

  it('contains no data of other users', async () => {
    const [one, other] = [await person(), await person()];
    const text = await (await ask(one.cookie)).text();
    expect(text).toContain(one.user.word);
    expect(text).not.toContain(other.user.word);
    expect(text).not.toContain(other.user.id);
  });

  it('requires a recent sign-in and a request of our pages', async () => {
    const { user, cookie } = await person();
    expect((await ask(cookie, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await ask()).headers.get('location')).toBe('/sign-in?next=%2Faccount');
    await owner.query(
      `UPDATE account.sessions
       SET authenticated_at = now() - interval '6 minutes'
       WHERE account_id = $1`,
      [user.id],
    );
    expect((await ask(cookie)).headers.get('location')).toBe('/sign-in?next=%2Faccount');
  });
});

describe('an export of many episodes', () => {
  it('is sent as it is read, a page at a time, and once for a person', async () => {
    const { user, cookie } = await largePerson(large.episodes);
    // Excludes the memory that every larger export needs.
    if (full) await (await ask((await largePerson()).cookie)).text();
    writeFileSync(`/proc/${account.pid}/clear_refs`, '5');
    const before = memory('VmRSS');
    const { reader, text } = await beginning(await ask(cookie));
    expect((await ask(cookie)).status).toBe(429);
    // A change after the beginning is in the document, because the last page is read later.
    await owner.query(
      `UPDATE episode.episodes SET title = 'changed since' WHERE user_id = $1
       AND id = (SELECT max(id) FROM episode.states WHERE user_id = $1)`,
      [user.id],
    );
    const all = text + (await rest(reader)).text;
    const grown = memory('VmHWM') - before;
    expect(all.length).toBeGreaterThan(large.episodes * large.bytesEach);
    expect(full ? grown : 0).toBeLessThan(all.length / 2);
    const { episodes } = JSON.parse(all) as { episodes: { title: string }[] };
    expect(episodes).toHaveLength(large.episodes);
    expect(episodes.filter(({ title }) => title === 'changed since')).toHaveLength(1);
    await eventually(async () => expect((await ask(cookie)).status).toBe(200));
  });

  it('of a ninth person ends the oldest of the eight, and is not refused', async () => {
    const people = await Promise.all(Array.from({ length: 9 }, () => largePerson()));
    const started: Awaited<ReturnType<typeof beginning>>[] = [];
    for (const { cookie } of people) started.push(await beginning(await ask(cookie)));
    const [oldest, ...others] = started.map(({ reader }) => reader);
    expect((await rest(oldest as (typeof others)[0])).isBroken).toBe(true);
    for (const reader of others) {
      expect((await reader.read()).done).toBe(false);
      await reader.cancel();
    }
  });

  it('ends when the client disconnects', async () => {
    const { cookie } = await largePerson();
    const { reader } = await beginning(await ask(cookie));
    await reader.cancel();
    await eventually(async () => {
      const again = await ask(cookie);
      await again.body?.cancel();
      expect(again.status).toBe(200);
    });
  });

  it('breaks the connection after an error, and never ends the document', async () => {
    const { cookie } = await largePerson();
    const { reader, text } = await beginning(await ask(cookie));
    await episode.kill();
    const after = await rest(reader);
    expect(after.isBroken).toBe(true);
    expect(() => JSON.parse(text + after.text)).toThrow(SyntaxError);
    [episode] = (await stack.start(['episode'])) as [AppProcess];
    await eventually(async () => {
      const again = await ask(cookie);
      await again.body?.cancel();
      expect(again.status).toBe(200);
    });
  });
});
