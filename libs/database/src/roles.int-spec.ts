import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, freshUser, type TestDatabase } from '#testing';
import type { DataSource } from 'typeorm';
import { probePrivileges, relationsOf } from '../testing/table-privileges.js';
import { createDataSource } from './typeorm.js';
import { createPool } from './pool.js';
import { ensureGroups, ensureLogin, groups } from './roles.js';

let database: TestDatabase;
let owner: DataSource;
const logins = new Map<string, pg.Client>();
const userId = freshUser();

beforeAll(async () => {
  database = await createDatabase();
  owner = await createDataSource(createPool({ url: database.ownerUrl })).initialize();
  for (const [role, url] of Object.entries(database.urls)) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    logins.set(role, client);
  }
});

afterAll(async () => {
  await Promise.all([...logins.values()].map((client) => client.end()));
  await owner.destroy();
  await database.drop();
});

/** Runs a statement of a login and rolls it back. Returns its SQLSTATE, or `done`. */
async function outcome(role: string, sql: string): Promise<string> {
  const client = logins.get(role) as pg.Client;
  await client.query('BEGIN');
  try {
    await client.query(sql);
    return 'done';
  } catch (error) {
    return (error as pg.DatabaseError).code ?? String(error);
  } finally {
    await client.query('ROLLBACK');
  }
}

const refused = '42501';
const makeSubscription = `INSERT INTO subscription.subscriptions
  (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed)
  VALUES ('${userId}', 'https://u.example', gen_random_uuid(), true, 'epoch', 'epoch', 'epoch')`;
const makeEpisode = `INSERT INTO episode.episodes
  (user_id, subscription_id, publish_date, sync_id, episode_guid, title, enclosure_url, episode_url)
  VALUES ('${userId}', 1, 'epoch', gen_random_uuid(), '', '', 'https://u.example',
    'https://u.example')`;
const makeDeletion = `SELECT deletion.add_pending('${userId}', 1, 'epoch', NULL)`;
/** Rights of the services that answer clients of the gpodder API. */
const ofReaders = {
  'sync.user_clock':
    'SELECT INSERT(user_id, stamp, answer_bytes, answered_second) ' +
    'UPDATE(stamp, answer_bytes, answered_second)',
  'sync.readers': 'SELECT INSERT UPDATE DELETE',
  'sync.reader_sessions': 'SELECT INSERT UPDATE DELETE',
};
/** Rights of each login on tables, views and sequences. */
const rights: Record<string, Record<string, string>> = {
  subscription: {
    ...ofReaders,
    'subscription.subscriptions': 'SELECT INSERT UPDATE',
    'subscription.guids': 'SELECT INSERT UPDATE',
    'subscription.former_guids': 'SELECT INSERT',
    'subscription.feed_urls': 'SELECT INSERT UPDATE',
    'subscription.totals': 'SELECT INSERT UPDATE',
    'subscription.subscription_id': 'nextval',
  },
  episode: {
    ...ofReaders,
    'episode.episodes': 'SELECT INSERT UPDATE DELETE',
    'episode.states': 'SELECT INSERT UPDATE DELETE',
    'episode.sync_ids': 'SELECT INSERT UPDATE DELETE',
    'episode.totals': 'SELECT INSERT UPDATE',
    'episode.episode_id': 'nextval',
    'subscription.subscriptions_by_guid': 'SELECT',
    'subscription.subscriptions_by_url': 'SELECT',
    'subscription.current_guids': 'SELECT',
    // The columns that the views publish.
    'subscription.subscriptions':
      'SELECT(user_id, id, feed_url, guid, is_subscribed, is_subscribed_at, deletion_id, ' +
      'deleted, merged_into, changed, title)',
    'subscription.guids': 'SELECT(user_id, guid, subscription_id)',
    'subscription.feed_urls': 'SELECT(user_id, url_sha256, subscription_id)',
    'subscription.followed_feeds': 'SELECT',
    'feed.newest_episodes': 'SELECT',
    'feed.touched': 'INSERT',
  },
  deletion: {
    'deletion.deletions': 'SELECT DELETE',
    'deletion.erasures': 'SELECT',
    'episode.episodes': 'SELECT DELETE',
    'episode.states': 'SELECT DELETE',
    'episode.sync_ids': 'SELECT DELETE',
    'episode.totals': 'SELECT UPDATE DELETE',
    'subscription.totals': 'SELECT UPDATE DELETE',
    'subscription.subscriptions':
      'SELECT DELETE UPDATE(is_subscribed, subscription_changed, is_subscribed_at, flipped, ' +
      'deletion_id, deleted, changed, title, title_at)',
    'subscription.guids': 'SELECT DELETE',
    'subscription.former_guids': 'SELECT DELETE',
    'subscription.feed_urls': 'SELECT DELETE',
    'subscription.subscriptions_by_guid': 'SELECT',
    'sync.events': 'SELECT INSERT DELETE',
    'sync.readers': 'SELECT DELETE',
    'sync.reader_sessions': 'SELECT DELETE',
    'sync.event_batch': 'nextval setval',
  },
  dump: {
    'sync.user_clock': 'SELECT',
    'subscription.subscriptions': 'SELECT',
    'episode.episodes': 'SELECT',
    'episode.states': 'SELECT',
  },
  account: {
    ...Object.fromEntries(
      [
        'accounts',
        'clients',
        'credentials',
        'devices',
        'gpodder_sessions',
        'links',
        'logins',
        'oidc',
        'passkeys',
        'recovery_codes',
        'sessions',
        'settings',
      ].map((table) => [`account.${table}`, 'SELECT INSERT UPDATE DELETE']),
    ),
    'account.notices': 'SELECT INSERT DELETE',
    'sync.migrations': 'SELECT',
  },
  feed: {
    'feed.feeds': 'SELECT INSERT UPDATE DELETE',
    'feed.fetches': 'SELECT INSERT UPDATE DELETE',
    'feed.images': 'SELECT INSERT UPDATE DELETE',
    'feed.imports': 'SELECT INSERT UPDATE DELETE',
    'feed.lanes': 'SELECT INSERT UPDATE DELETE',
    'feed.previews': 'SELECT INSERT UPDATE DELETE',
    'feed.tasks': 'SELECT INSERT UPDATE DELETE',
    'feed.touched': 'SELECT DELETE',
    'episode.untitled': 'SELECT',
    'subscription.followers': 'SELECT',
    'subscription.followed_feeds': 'SELECT',
    'subscription.subscriptions_by_guid': 'SELECT',
    'subscription.subscriptions':
      'SELECT(user_id, id, feed_url, guid, is_subscribed, is_subscribed_at, declared_guids, ' +
      'deletion_id, deleted, merged_into, changed, title)',
    'subscription.feed_urls': 'SELECT(user_id, url_sha256, subscription_id)',
    'episode.episodes': 'SELECT(user_id, subscription_id, title)',
    'subscription.guids': 'SELECT(user_id, guid, subscription_id)',
    'sync.migrations': 'SELECT',
    'sync.user_clock': 'SELECT',
  },
};
const services = ['subscription', 'episode', 'deletion'];
const ofServices = {
  'sync.user_clock':
    'SELECT INSERT(user_id, stamp, answer_bytes, answered_second) UPDATE(stamp, answer_bytes)',
  'sync.request': 'SELECT INSERT UPDATE DELETE',
  'sync.answer': 'SELECT INSERT UPDATE DELETE',
  'sync.migrations': 'SELECT',
  'sync.events': 'INSERT',
};
const merge = `SELECT episode.merge_subscriptions('${userId}', '{1}', '{2}', now(), 10)`;

describe('the login of', () => {
  it.each([
    ['subscription', makeSubscription],
    [
      'subscription',
      'SELECT * FROM subscription.guids, subscription.feed_urls, subscription.former_guids',
    ],
    ['subscription', merge],
    ['episode', makeEpisode],
    ['episode', 'DELETE FROM episode.sync_ids'],
    [
      'episode',
      `SELECT * FROM subscription.subscriptions_by_guid, subscription.subscriptions_by_url,
        subscription.current_guids`,
    ],
    ['deletion', makeDeletion],
    ['deletion', 'DELETE FROM episode.episodes'],
    ['deletion', 'DELETE FROM episode.sync_ids'],
    [
      'deletion',
      `UPDATE subscription.subscriptions
       SET is_subscribed = false, flipped = now(), subscription_changed = now(), deleted = now(),
         changed = now()`,
    ],
    ['deletion', 'SELECT * FROM subscription.subscriptions_by_guid'],
  ])('%s may do what it owns: %s', async (role, sql) => {
    expect(await outcome(role, sql)).toBe('done');
  });

  it.each(services)('%s can lock and advance clocks and store answers', async (role) => {
    expect(await outcome(role, `SELECT sync.begin_write('${userId}', gen_random_uuid())`)).toBe(
      'done',
    );
    const requestId = randomUUID();
    expect(
      await outcome(
        role,
        `SELECT sync.begin_write('${userId}', '${requestId}');
         SELECT sync.keep_answer('${userId}', '${requestId}', now(), '{}', 2)`,
      ),
    ).toBe('done');
  });

  describe.each(services)('%s, of the answers that another service stored,', (role) => {
    const [requestId, another] = [randomUUID(), services.find((name) => name !== role) ?? ''];
    const ofRequest = `WHERE user_id = '${userId}' AND request_id = '${requestId}'`;
    const rowsOf = async (sql: string) => (await logins.get(role)?.query(sql))?.rowCount;
    beforeAll(() =>
      logins.get(another)?.query(
        `SELECT sync.begin_write('${userId}', '${requestId}', '\\x01');
         SELECT sync.keep_answer('${userId}', '${requestId}', now(), '{"reply":1}', 1000)`,
      ),
    );

    it('cannot read, change or delete them', async () => {
      expect(await rowsOf(`SELECT FROM sync.answer ${ofRequest}`)).toBe(0);
      expect(await rowsOf(`UPDATE sync.answer SET answer = '{}' ${ofRequest}`)).toBe(0);
      expect(await rowsOf(`DELETE FROM sync.answer ${ofRequest}`)).toBe(0);
      expect(await rowsOf(`DELETE FROM sync.request ${ofRequest}`)).toBe(0);
      expect(await rowsOf(`UPDATE sync.request SET stamp = now() ${ofRequest}`)).toBe(0);
    });

    it('cannot add one as the other service', async () => {
      const added = `INSERT INTO sync.request (user_id, request_id, stamp, writer)
        SELECT user_id, gen_random_uuid(), stamp, writer FROM sync.request ${ofRequest}`;
      expect(await outcome(role, added)).toBe(refused);
    });

    it('can read that the request id is used, and its fingerprint', async () => {
      const { rows } = (await logins
        .get(role)
        ?.query(`SELECT * FROM sync.begin_write('${userId}', '${requestId}', '\\x02')`)) ?? {
        rows: [],
      };
      expect(rows).toMatchObject([{ repeated: true, fingerprint: Buffer.from([1]), answer: null }]);
    });

    it('deletes an old one with its marker for a new write', async () => {
      await owner.query(
        `UPDATE sync.request SET created_at = now() - interval '2 hours' ${ofRequest}`,
      );
      await logins.get(role)?.query(
        `SELECT sync.begin_write('${userId}', '${requestId}', '\\x02');
         SELECT sync.keep_answer('${userId}', '${requestId}', now(), '{"reply":2}', 1000)`,
      );
      const { length } = await owner.query<object[]>(`SELECT FROM sync.answer ${ofRequest}`);
      expect([length, await rowsOf(`SELECT FROM sync.answer ${ofRequest}`)]).toEqual([1, 1]);
    });
  });

  it.each(Object.entries(rights))(
    '%s has these rights to rows and no others',
    async (role, listed) => {
      const relations = await relationsOf(owner);
      const found: Record<string, string> = {};
      for (const relation of relations) {
        const allowed = await probePrivileges(relation, (sql) => outcome(role, sql));
        if (allowed) found[relation.name] = allowed;
      }
      expect(found).toEqual({ ...(services.includes(role) && ofServices), ...listed });
    },
  );

  it.each(Object.keys(rights))(
    '%s owns nothing, so it can create, alter and drop nothing',
    async (role) => {
      const relations = (await relationsOf(owner)).map(({ name }) => name);
      const schemas = ['public', ...new Set(relations.map((name) => name.split('.')[0]!))];
      const done = await doneOf(role, [
        ...schemas.flatMap((name) => [
          `CREATE TABLE ${name}.mine ()`,
          `DROP SCHEMA ${name} CASCADE`,
        ]),
        ...schemas.map(
          (name) => `CREATE FUNCTION ${name}.mine() RETURNS int LANGUAGE sql RETURN 1`,
        ),
        ...relations.map((name) => `ALTER TABLE ${name} OWNER TO CURRENT_USER`),
        ...relations.map((name) => `ALTER TABLE ${name} RENAME TO mine`),
        'CREATE SCHEMA mine',
        'CREATE ROLE mine',
        'CREATE EXTENSION pgcrypto',
      ]);
      expect(done).toEqual([]);
    },
  );

  it.each(Object.keys(rights))('%s can only become its own group', async (role) => {
    const roles = await owner.query<{ name: string }[]>(
      'SELECT quote_ident(rolname) AS name FROM pg_roles',
    );
    const own = groups[role as keyof typeof groups];
    const login = `podcast_sync_${role}`;
    const names = roles.map(({ name }) => name);
    // No login can alter the roles of Postgres itself, or add a member to pg_database_owner.
    const alterable = names.filter((name) => !name.startsWith('pg_'));
    const joinable = names.filter((name) => name !== 'pg_database_owner');
    const done = await doneOf(role, [
      ...names.map((name) => `SET ROLE ${name}`),
      ...alterable.map((name) => `ALTER ROLE ${name} SUPERUSER`),
      ...joinable.map((name) => `GRANT ${name} TO ${login}`),
    ]);
    expect(done.sort()).toEqual([`SET ROLE ${login}`, `SET ROLE ${own}`].sort());
  });

  it.each(Object.keys(rights))('%s can access no secrets, files or settings', async (role) => {
    const done = await doneOf(role, [
      'SELECT * FROM pg_authid',
      "SELECT pg_read_file('PG_VERSION')",
      "COPY (SELECT 1) TO PROGRAM 'true'",
      "COPY (SELECT 1) TO '/tmp/mine'",
      'SELECT pg_reload_conf()',
    ]);
    expect(done).toEqual([]);
  });

  it('can execute no SECURITY DEFINER function except those granted to its group', async () => {
    const definers = await owner.query<{ name: string; search: string; granted: string }[]>(
      `SELECT p.oid::regprocedure::text AS name, p.proconfig::text AS search,
         (SELECT string_agg(a.grantee::regrole::text, ', ')
         FROM aclexplode(p.proacl) a
         WHERE a.grantee <> p.proowner) AS granted
       FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE p.prosecdef AND n.nspname !~ '^(pg_|information_schema)' ORDER BY 1`,
    );
    const instant = 'timestamp with time zone';
    const owners = {
      'account.erase_user(uuid,integer)': groups.deletion,
      [`deletion.add_pending(uuid,bigint,${instant},json)`]: groups.deletion,
      'deletion.add_removed_rows(uuid,bigint)': groups.deletion,
      'deletion.claim(uuid,bigint)': groups.deletion,
      'deletion.claim_due(integer,double precision)': groups.deletion,
      'deletion.claim_due_erasures(integer,double precision)': groups.deletion,
      'deletion.claim_erasure(uuid)': groups.deletion,
      'deletion.count_attempt(uuid,bigint)': groups.deletion,
      'deletion.end_erasure(uuid,text,text,smallint)': groups.deletion,
      'deletion.end_pending(uuid,bigint,text,text,smallint)': groups.deletion,
      'deletion.erase_requests(uuid,uuid,integer)': groups.deletion,
      'deletion.make_due(bigint)': groups.deletion,
      'deletion.record_erasure(uuid,json)': groups.deletion,
      'deletion.renumber_lost_erasure_jobs(uuid[],integer[])': groups.deletion,
      'deletion.renumber_lost_jobs(uuid[],bigint[],integer[])': groups.deletion,
      'episode.count_states(uuid,bigint[],bigint)': groups.subscription,
      'episode.merge_subscriptions(uuid,bigint[],bigint[],timestamp with time zone,bigint)':
        groups.subscription,
      [`subscription.ensure_feeds(uuid,text[],uuid[],bytea[],${instant},bigint,bigint)`]: [
        groups.subscription,
        groups.episode,
      ].join(', '),
      'sync.evict_answers(uuid,bigint,integer)': [
        groups.subscription,
        groups.episode,
        groups.deletion,
      ].join(', '),
      'sync.refuse_user(uuid,smallint)': groups.account,
    };
    const search = expect.stringContaining('search_path=pg_catalog, pg_temp') as string;
    expect(definers).toEqual(
      Object.entries(owners).map(([name, granted]) => ({ name, search, granted })),
    );
    expect(await Promise.all(Object.keys(rights).map((role) => outcome(role, merge)))).toEqual([
      'done',
      refused,
      refused,
      refused,
      refused,
      refused,
    ]);
  });
});

/** Returns the statements that are not refused. */
async function doneOf(role: string, statements: string[]): Promise<string[]> {
  const done: string[] = [];
  for (const sql of statements) if ((await outcome(role, sql)) !== refused) done.push(sql);
  return done;
}

describe('creating roles', () => {
  it('again changes nothing', async () => {
    const runner = owner.createQueryRunner();
    const roles = () =>
      runner.query(
        "SELECT oid, rolname, rolcanlogin FROM pg_roles WHERE rolname ~ '^podcast_sync' ORDER BY 1",
      );
    const before: unknown = await roles();
    await ensureGroups(runner);
    await ensureGroups(runner);
    expect(await roles()).toEqual(before);
    await runner.release();
  });

  it('creates groups without login', async () => {
    const rows = await owner.query<{ rolcanlogin: boolean }[]>(
      'SELECT rolcanlogin FROM pg_roles WHERE rolname = ANY ($1)',
      [Object.values(groups)],
    );
    expect(rows).toEqual(Object.keys(groups).map(() => ({ rolcanlogin: false })));
  });

  it('creates a login once, with the password of its URL, for concurrent callers', async () => {
    const name = `test ${randomUUID()}`;
    const password = 'it\'s "q" \\';
    const url = Object.assign(new URL(database.ownerUrl), { username: name, password }).href;
    const runners = Array.from({ length: 6 }, () => owner.createQueryRunner());
    const results = await Promise.allSettled(
      runners.map((runner) => ensureLogin(runner, groups.episode, url)),
    );
    await Promise.all(runners.map((runner) => runner.release()));
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query('SELECT 1 AS n FROM subscription.current_guids LIMIT 0');
    await client.end();
    await owner.query(`DROP ROLE "${name}"`);
    expect(rows).toEqual([]);
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
  });
});
