import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/** Numbers of rows: each subscription has `names` guids, `names` URLs and `names` former guids. */
export interface Sizes {
  readonly subscriptions: number;
  readonly names: number;
  readonly episodes: number;
}

/**
 * Statements that insert rows of a user into every table. $1 user, $2 word in all texts, and the
 * {@link Sizes}: $3 subscriptions, $4 names, $5 episodes.
 */
const everything = [
  `INSERT INTO sync.user_clock (user_id, stamp, answer_bytes, answered_second)
   VALUES ($1, '2026-01-01', 20, 1)
   ON CONFLICT (user_id) DO UPDATE SET answer_bytes = 20`,
  `WITH made AS (
     INSERT INTO subscription.subscriptions
       (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed,
        guid_changed, changed)
     SELECT $1, 'https://' || $2 || '.example/' || n, gen_random_uuid(), true, '2025-01-01',
       '2025-01-01', '2025-01-01', '2025-01-01'
     FROM generate_series(1, $3::int) n RETURNING id, guid
   ), guids AS (
     INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
     SELECT $1, CASE n WHEN 1 THEN guid ELSE gen_random_uuid() END, id, '2025-01-01'
     FROM made, generate_series(1, $4::int) n
   ), urls AS (
     INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
     SELECT $1, sync.sha256($2 || id || ' ' || n), id FROM made, generate_series(1, $4::int) n
   )
   INSERT INTO subscription.former_guids (user_id, subscription_id, replaced, guid)
   SELECT $1, id, '2025-01-01'::timestamptz + n * interval '1 second', gen_random_uuid()
   FROM made, generate_series(1, $4::int) n`,
  // Pointers to every other subscription.
  `INSERT INTO subscription.subscriptions
     (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed,
      merged_into, merged_at)
   SELECT $1, s.feed_url || '/old', gen_random_uuid(), true, 'epoch', 'epoch', '2025-01-01', s.id,
     '2025-01-01'
   FROM subscription.subscriptions s WHERE s.user_id = $1 AND s.id % 2 = 0`,
  `INSERT INTO subscription.totals (user_id, live, guids, urls, guid_changes, pointers)
   VALUES ($1, $3::int, $3::int * $4::int, $3::int * $4::int, $3::int * $4::int, $3::int / 2)`,
  `WITH made AS (
     INSERT INTO episode.episodes (user_id, subscription_id, publish_date, sync_id, episode_guid,
         title, enclosure_url, episode_url)
     SELECT $1, (SELECT min(id) FROM subscription.subscriptions WHERE user_id = $1) + n % $3::int,
       '2025-01-01', gen_random_uuid(),
       $2 || n, $2, 'https://' || $2 || '.example/e/' || n, ''
     FROM generate_series(1, $5::int) n RETURNING id, sync_id
   ), states AS (
     INSERT INTO episode.states (user_id, id, sync_id, changed)
     SELECT $1, id, sync_id, '2025-01-01' FROM made
   ), totals AS (
     INSERT INTO episode.totals (user_id, episodes, sync_ids)
     SELECT $1, count(*), count(*) FROM made
   )
   INSERT INTO episode.sync_ids (user_id, sync_id, episode_id)
   SELECT $1, gen_random_uuid(), id FROM made`,
  `INSERT INTO deletion.deletions (user_id, subscription_id, requested, status, finished, cause,
       origin)
   SELECT $1, s.id, '2025-01-01', CASE s.id % 2 WHEN 0 THEN 'PENDING' ELSE 'FAILURE' END,
     CASE s.id % 2 WHEN 1 THEN '2025-01-01'::timestamptz END,
     CASE s.id % 2 WHEN 1 THEN $2 END, '{"correlationId":"r"}'
   FROM subscription.subscriptions s WHERE s.user_id = $1 AND s.merged_into IS NULL`,
  `INSERT INTO sync.request (user_id, request_id, stamp, fingerprint)
   SELECT $1, gen_random_uuid(), '2025-01-01', '\\x00' FROM generate_series(1, $3::int)`,
  `INSERT INTO sync.answer (user_id, request_id, stamp, bytes, answer)
   SELECT user_id, request_id, stamp, 20, json_build_object('reply', $2::text) FROM sync.request
   WHERE user_id = $1`,
  `INSERT INTO sync.readers (user_id, credential_id, list, since, answered_second, safe_second,
     received_ms)
   SELECT $1, gen_random_uuid(), list, 1, 1, 1, 1
   FROM generate_series(1, 2) list, generate_series(1, $3::int)`,
  `INSERT INTO sync.reader_sessions (user_id, session_id, list, stamp_ms)
   SELECT $1, gen_random_uuid(), list, 1
   FROM generate_series(1, 2) list, generate_series(1, $3::int)`,
  `INSERT INTO account.accounts (id, name, issuer, subject, password, email)
   VALUES ($1, left($2, 60), 'https://' || $2 || '.example', $2, $2, $2 || '@example.org')`,
  `INSERT INTO account.recovery_codes (account_id, hash)
   SELECT $1, sync.sha256($2 || n) FROM generate_series(1, 10) n`,
  `INSERT INTO account.passkeys (id, account_id, public_key, counter, transports, label)
   SELECT sync.sha256($2 || n), $1, sync.sha256($2), 0, '{internal}', $2
   FROM generate_series(1, 20) n`,
  `INSERT INTO account.sessions (hash, id, account_id, expires_at, address, user_agent)
   SELECT sync.sha256($2 || n), gen_random_uuid(), $1, '2100-01-01', $2, $2
   FROM generate_series(1, $3::int) n`,
  `INSERT INTO account.links (hash, kind, account_id, name, email, expires_at)
   VALUES (sync.sha256($2), 'reset', $1, $2, $2, '2100-01-01')`,
  `INSERT INTO account.notices (account_id, id, kind, label, address, user_agent)
   VALUES ($1, gen_random_uuid(), 'app_password', $2, $2, $2)`,
  `INSERT INTO account.credentials (id, account_id, hash, label, scopes)
   SELECT gen_random_uuid(), $1, sync.sha256($2 || n), $2, '{}' FROM generate_series(1, $3::int) n`,
  `INSERT INTO account.gpodder_sessions (credential_id, id, account_id)
   SELECT id, gen_random_uuid(), account_id FROM account.credentials WHERE account_id = $1`,
  `INSERT INTO account.devices (account_id, id, caption, type)
   SELECT $1, $2 || n, $2, 'other' FROM generate_series(1, $3::int) n`,
  `INSERT INTO account.settings (account_id, scope, subject, settings, bytes)
   SELECT $1, 'device', $2 || n, json_build_object($2, n), 200 FROM generate_series(1, $3::int) n`,
  `INSERT INTO account.logins (poll_hash, login_hash, user_agent, address, network, server,
       expires_at, account_id)
   VALUES (sync.sha256($2), sync.sha256($2), $2, $2, $2, $2, '2100-01-01', $1)`,
  `INSERT INTO feed.imports (user_id, id, source, login, report)
   VALUES ($1, gen_random_uuid(), 'https://' || $2 || '.example/', $2, $2)`,
  `INSERT INTO account.oidc (model, id, grant_id, account_id, address, payload)
   SELECT 'RefreshToken', sync.sha256($2 || n), $2, $1, $2,
     json_build_object('accountId', $1, 'of', $2)
   FROM generate_series(1, $3::int) n`,
];

/** A user with rows in every table that has rows of users. */
export class ErasedUser {
  readonly id = randomUUID();
  /** A word in all texts of this user and in none of other users. */
  readonly word = `w${randomUUID().replaceAll('-', '')}`;

  private constructor(private readonly owner: pg.Client) {}

  static async store(owner: pg.Client, sizes: Partial<Sizes> = {}): Promise<ErasedUser> {
    const user = new ErasedUser(owner);
    const { subscriptions = 6, names = 3, episodes = 20 } = sizes;
    const values = [user.id, user.word, subscriptions, names, episodes];
    for (const text of everything) {
      const last = Math.max(...[...text.matchAll(/\$(\d)/g)].map(([, place]) => Number(place)));
      // Postgres needs the type of each parameter, also of those that a statement does not use.
      const typed = text
        .replaceAll(/\$1(?!\d)/g, '$1::uuid')
        .replaceAll(/\$2(?!\d|::)/g, '$2::text');
      const unused = values.slice(0, last).map((_, place) => `$${place + 1}`);
      const types = ['uuid', 'text', 'int', 'int', 'int'];
      const all = unused.map((parameter, place) => `${parameter}::${types[place]}`).join(', ');
      await owner.query(
        `WITH parameters AS (SELECT ${all}) ${typed.replace(/^WITH/, ',')}`,
        values.slice(0, last),
      );
    }
    return user;
  }

  /** Reads all rows that contain the user's id or word, by table. */
  traces(): Promise<Record<string, string[]>> {
    return tracesOf(this.owner, [this.id, this.word]);
  }
}

const tables = `
  SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)' ORDER BY 1`;

/** Reads, by table, all rows of a database that contain at least one of the words. */
export async function tracesOf(
  owner: pg.Client | pg.Pool,
  words: readonly string[],
): Promise<Record<string, string[]>> {
  const { rows } = await owner.query<{ name: string }>(tables);
  const found: Record<string, string[]> = {};
  for (const { name } of rows) {
    const like = words.map((_, place) => `t::text LIKE '%' || $${place + 1} || '%'`).join(' OR ');
    const lines = await owner.query<{ line: string }>(
      `SELECT t::text AS line FROM ${name} t WHERE ${like} ORDER BY 1`,
      [...words],
    );
    if (lines.rows.length > 0) found[name] = lines.rows.map(({ line }) => line);
  }
  return found;
}
