import { createHash } from 'node:crypto';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { comparableUrl, podcastGuid, urlKey } from '#contracts';

/**
 * Moves stored URLs to their lookup keys, and merges subscriptions and episodes whose URLs are
 * equal (ADR 45). Each step is a transaction of its own under the clocks of its users, and a second
 * run continues where the first one stopped.
 */
export class MergeEqualUrls1764086401000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await compareEnclosures(runner);
    let after = zero;
    for (;;) {
      const users = await read<{ id: string }>(runner, pageOfUsers, [after]);
      if (users.length === 0) break;
      const ids = users.map(({ id }) => id);
      await inTransaction(runner, () => compareFeeds(runner, ids));
      after = ids.at(-1) as string;
    }
    for (const { id, younger } of await read<Alike>(runner, equalEpisodes))
      await inTransaction(runner, () => mergeEpisodes(runner, id, younger));
  }

  /** Earlier code finds a URL that is not normal again after a client has sent it once. */
  async down(): Promise<void> {}
}

type Alike = { id: string; younger: [subscription: string, episodes: string[]][] };
/** A name of a subscription, and the key that its URL has from now on. */
type Name = {
  user: string;
  old: string;
  key: string;
  id: string;
  isLive: boolean;
  isSubscribed: boolean;
  isCurrent: boolean;
};
type Pair = { user: string; from: string; into: string };

const zero = '00000000-0000-0000-0000-000000000000';

/** SQL that is false for the URLs that {@link comparableUrl} returns unchanged at its fast path. */
const mayDiffer = (url: string) => `(
  ${url} COLLATE "C" !~ '^https?://([a-z0-9-]+\\.)+[a-z]+/[A-Za-z0-9_~!$&()*+,;=:@/?#.-]*$'
  OR strpos(${url}, '/.') > 0
)`;

const pageOfUsers =
  'SELECT user_id AS id FROM sync.user_clock WHERE user_id > $1 ORDER BY user_id LIMIT 200';
const pageOfEnclosures = `
  SELECT e.user_id AS "user", e.sync_id AS "syncId", e.enclosure_url AS url FROM episode.episodes e
  WHERE (e.user_id, e.sync_id) > ($1, $2) AND e.enclosure_url <> ''
    AND e.comparable_enclosure_url IS NULL AND ${mayDiffer('e.enclosure_url')}
  ORDER BY e.user_id, e.sync_id LIMIT 5000`;
const setEnclosures = `
  UPDATE episode.episodes e SET comparable_enclosure_url = c.comparable
  FROM json_to_recordset($1) c ("user" uuid, "syncId" uuid, url text, comparable text)
  WHERE e.user_id = c."user" AND e.sync_id = c."syncId" AND e.enclosure_url = c.url`;

async function compareEnclosures(runner: QueryRunner): Promise<void> {
  let after = [zero, zero];
  for (;;) {
    type Row = { user: string; syncId: string; url: string };
    const rows = await read<Row>(runner, pageOfEnclosures, after);
    const last = rows.at(-1);
    if (!last) return;
    const compared = rows.map((row) => ({ ...row, comparable: comparableUrl(row.url) }));
    const differing = compared.filter(({ url, comparable }) => url !== comparable);
    await runner.query(setEnclosures, [JSON.stringify(differing)]);
    after = [last.user, last.syncId];
  }
}

const urlsOfUsers = `
  SELECT s.user_id AS "user", s.feed_url AS url FROM subscription.subscriptions s
  WHERE s.user_id = ANY ($1::uuid[]) AND s.merged_into IS NULL AND ${mayDiffer('s.feed_url')}
  UNION SELECT f.user_id, f.url FROM subscription.feed_urls f
  WHERE f.user_id = ANY ($1::uuid[]) AND ${mayDiffer('f.url')}`;
const ownersOfKeys = `
  SELECT DISTINCT f.user_id AS "user", encode(f.url_sha256, 'hex') AS old, s.id::text,
    s.feed_url AS url, f.url AS text, s.deleted IS NULL AS "isLive",
    s.is_subscribed AS "isSubscribed"
  FROM json_to_recordset($1) u ("user" uuid, old text, key text)
  CROSS JOIN LATERAL unnest(ARRAY[u.old, u.key]) k (key)
  JOIN subscription.feed_urls f ON f.user_id = u."user" AND f.url_sha256 = decode(k.key, 'hex')
  JOIN subscription.subscriptions s ON s.user_id = f.user_id AND s.id = f.subscription_id`;
const deleteKeys = `
  DELETE FROM subscription.feed_urls f USING json_to_recordset($1) n ("user" uuid, old text)
  WHERE f.user_id = n."user" AND f.url_sha256 = decode(n.old, 'hex')`;
const loseUrls = `
  UPDATE subscription.subscriptions s SET has_lost_url = true
  FROM json_to_recordset($1) n ("user" uuid, id bigint) WHERE s.user_id = n."user" AND s.id = n.id`;
/** Two steps, because the key of one URL can be the former key of another (`%2541` and `%41`). */
const moveKeys = [
  ["decode(n.old, 'hex')", 'sync.sha256(n.key)'],
  ['sync.sha256(n.key)', "decode(n.key, 'hex')"],
].map(
  ([before, after]) => `
  UPDATE subscription.feed_urls f SET url_sha256 = ${after}
  FROM json_to_recordset($1) n ("user" uuid, old text, key text)
  WHERE f.user_id = n."user" AND f.url_sha256 = ${before}`,
);
const addGuids = `
  INSERT INTO subscription.guids (user_id, guid, subscription_id, attached, sent, derived)
  SELECT n."user", n.guid, n.id, c.stamp, false, true
  FROM json_to_recordset($1) n ("user" uuid, guid uuid, id bigint)
  JOIN sync.user_clock c ON c.user_id = n."user"
  ON CONFLICT (user_id, guid) DO NOTHING`;
const recount = `
  UPDATE subscription.totals t SET
    live = (SELECT count(*) FROM subscription.subscriptions s
      WHERE s.user_id = t.user_id AND s.deleted IS NULL AND s.merged_into IS NULL),
    pointers = (SELECT count(*) FROM subscription.subscriptions s
      WHERE s.user_id = t.user_id AND s.merged_into IS NOT NULL),
    guids = (SELECT count(*) FROM subscription.guids g WHERE g.user_id = t.user_id),
    urls = (SELECT count(*) FROM subscription.feed_urls u WHERE u.user_id = t.user_id)
  WHERE t.user_id = ANY ($1::uuid[])`;
const advance = 'SELECT sync.advance_clock(user_id) FROM unnest($1::uuid[]) user_id';

/** Moves the keys of users' feed URLs. Of the owners of equal URLs, one keeps the key. */
async function compareFeeds(runner: QueryRunner, users: string[]): Promise<void> {
  await runner.query('SELECT sync.lock_clock(id) FROM unnest($1::uuid[]) id', [users]);
  const urls = (await read<{ user: string; url: string }>(runner, urlsOfUsers, [users]))
    .filter(({ url }) => comparableUrl(url) !== url)
    .map(({ user, url }) => ({ user, url, old: sha256(url), key: urlKey(url) }));
  const moving = new Map(urls.map((url) => [`${url.user} ${url.old}`, url]));
  type Owner = Omit<Name, 'key' | 'isCurrent'> & { url: string; text: string | null };
  const owners = await read<Owner>(runner, ownersOfKeys, [JSON.stringify(urls)]);
  const names = owners.map(({ url, text, ...owner }): Name => {
    const move = moving.get(`${owner.user} ${owner.old}`);
    // In a second run, another URL can have moved to the former key of this one.
    const key = move && [url, text].includes(move.url) ? move.key : owner.old;
    return { ...owner, key, isCurrent: urlKey(url) === key };
  });
  const kept = new Map<string, Name>();
  for (const name of names.toSorted(byPrecedence))
    if (!kept.has(nameOf(name))) kept.set(nameOf(name), name);
  const moved = [...kept.values()].filter(({ old, key }) => old !== key);
  const lost = names.filter((name) => kept.get(nameOf(name)) !== name);
  const touched = [...new Set([...moved, ...lost].map(({ user }) => user))];
  if (touched.length === 0) return;
  await runner.query(advance, [touched]);
  await runner.query(deleteKeys, [JSON.stringify(lost)]);
  await runner.query(loseUrls, [JSON.stringify(lost.filter((n) => n.isCurrent && !n.isLive))]);
  for (const step of moveKeys) await runner.query(step, [JSON.stringify(moved)]);
  const pairs = lost
    .filter(({ isCurrent, isLive }) => isCurrent && isLive)
    .map((name) => ({ user: name.user, from: name.id, into: kept.get(nameOf(name))?.id as string }))
    .filter(({ from, into }) => from !== into);
  await mergeSubscriptions(runner, pairs);
  const guids = urls.flatMap(({ user, url, key }) => {
    const owner = kept.get(`${user} ${key}`);
    return owner ? [{ user, guid: podcastGuid(url), id: owner.id }] : [];
  });
  await runner.query(addGuids, [JSON.stringify(guids)]);
  await runner.query(recount, [touched]);
}

const nameOf = ({ user, key }: Name) => `${user} ${key}`;

/** A current URL of a live subscription goes first, then subscribed ones, then the oldest. */
function byPrecedence(one: Name, other: Name): number {
  const rank = (name: Name) =>
    Number(!(name.isLive && name.isCurrent)) * 4 +
    Number(!name.isLive) * 2 +
    Number(!name.isSubscribed);
  return rank(one) - rank(other) || Number(one.id) - Number(other.id);
}

/** Any number of further sync_ids: nothing is lost that the quotas of the services would bound. */
const anyAliases = Number.MAX_SAFE_INTEGER;
const mergeStates = `
  SELECT episode.merge_subscriptions(p."user", p."from", p."into", c.stamp, ${anyAliases})
  FROM (
    SELECT "user", array_agg("from") AS "from", array_agg("into") AS "into"
    FROM json_to_recordset($1) p ("user" uuid, "from" bigint, "into" bigint) GROUP BY "user"
  ) p JOIN sync.user_clock c ON c.user_id = p."user"`;
/** `KnownSubscriptions.merge` in SQL. The survivor is subscribed if either is. */
const mergeRows = `
  WITH pairs AS (
    SELECT p.*, c.stamp
    FROM json_to_recordset($1) p ("user" uuid, "from" bigint, "into" bigint)
    JOIN sync.user_clock c ON c.user_id = p."user"
  ), guids AS (
    UPDATE subscription.guids g SET subscription_id = p."into", attached = p.stamp
    FROM pairs p WHERE g.user_id = p."user" AND g.subscription_id = p."from"
  ), urls AS (
    UPDATE subscription.feed_urls u SET subscription_id = p."into"
    FROM pairs p WHERE u.user_id = p."user" AND u.subscription_id = p."from"
  ), pointers AS (
    UPDATE subscription.subscriptions s
    SET merged_into = p."into", merged_at = p.stamp, changed = p.stamp,
      declared_guids = 0, deletion_id = NULL
    FROM pairs p WHERE s.user_id = p."user" AND p."from" IN (s.id, s.merged_into)
  )
  UPDATE subscription.subscriptions s
  SET is_subscribed_at = greatest(s.is_subscribed_at, m.is_subscribed_at),
    flipped = greatest(s.flipped, m.flipped), changed = greatest(s.changed, m.flipped),
    declared_guids = s.declared_guids + m.declared_guids, deletion_id = NULL
  FROM pairs p JOIN subscription.subscriptions m ON m.user_id = p."user" AND m.id = p."from"
  WHERE s.user_id = p."user" AND s.id = p."into"`;

/** Merges pairs in rounds; no two pairs of a round share a subscription. */
async function mergeSubscriptions(runner: QueryRunner, pairs: Pair[]): Promise<void> {
  for (let left = pairs; left.length > 0;) {
    const round = new Map(left.map((pair) => [`${pair.user} ${pair.into}`, pair]));
    const values = [JSON.stringify([...round.values()])];
    await runner.query(mergeStates, values);
    await runner.query(mergeRows, values);
    const done = new Set(round.values());
    left = left.filter((pair) => !done.has(pair));
  }
}

/** Episodes with equal enclosure URLs in one subscription, without the oldest, by user. */
const equalEpisodes = `
  SELECT g.user_id AS id, json_agg(json_build_array(g.subscription_id::text, g.younger)) AS younger
  FROM (
    SELECT a.user_id, a.subscription_id, json_agg(a.id::text) AS younger FROM (
      SELECT e.user_id, e.subscription_id, e.id, row_number() OVER same AS place
      FROM episode.episodes e JOIN (
        SELECT e.user_id, e.subscription_id,
          coalesce(e.comparable_enclosure_url, e.enclosure_url) AS url
        FROM episode.episodes e
        WHERE e.enclosure_url <> '' AND e.subscription_id IN (
          SELECT d.subscription_id FROM episode.episodes d
          WHERE d.comparable_enclosure_url IS NOT NULL
        )
        GROUP BY 1, 2, 3 HAVING count(DISTINCT e.enclosure_url) > 1
      ) t ON t.user_id = e.user_id AND t.subscription_id = e.subscription_id
        AND t.url = coalesce(e.comparable_enclosure_url, e.enclosure_url)
      WINDOW same AS (PARTITION BY e.user_id, e.subscription_id, t.url ORDER BY e.id)
    ) a WHERE a.place > 1 GROUP BY a.user_id, a.subscription_id
  ) g GROUP BY g.user_id`;
const newSubscription = `SELECT nextval('subscription.subscription_id')::text AS id`;
const moveEpisodes = `
  UPDATE episode.episodes e SET subscription_id = $3
  WHERE e.user_id = $1 AND e.subscription_id = $2 AND e.id = ANY ($4::bigint[])`;

/**
 * Merges younger episodes into the older ones of their subscription, where the rule for merging
 * subscriptions says so: it runs as if the younger ones were a subscription of their own, and moves
 * the rest back.
 */
async function mergeEpisodes(
  runner: QueryRunner,
  user: string,
  younger: Alike['younger'],
): Promise<void> {
  await runner.query(advance, [[user]]);
  const pairs: Pair[] = [];
  for (const [into, episodes] of younger) {
    const [next] = await read<{ id: string }>(runner, newSubscription);
    const from = (next as { id: string }).id;
    await runner.query(moveEpisodes, [user, into, from, episodes]);
    pairs.push({ user, from, into });
  }
  await runner.query(mergeStates, [JSON.stringify(pairs)]);
}

async function read<Row>(runner: QueryRunner, sql: string, values?: unknown[]): Promise<Row[]> {
  return (await runner.query(sql, values)) as unknown as Row[];
}

async function inTransaction(runner: QueryRunner, run: () => Promise<void>): Promise<void> {
  await runner.startTransaction();
  try {
    await run();
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
