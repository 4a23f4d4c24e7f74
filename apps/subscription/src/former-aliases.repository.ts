import type { listFormerNames, ReplyOf, RequestOf } from '#contracts';
import { clockOfUser, type Database, statement, unlessRefused } from '#database';

/** Maximum number of former URLs or guids per page. A URL has at most 4,096 bytes. */
const perPage = 250;

/**
 * Returns the SQL of a page of aliases: former URLs or guids of the user's subscriptions, in the
 * order of their keys. $1 user, $2 last key of the previous page.
 *
 * @param table the table with the current and former URLs or guids; `n` in the other parameters.
 * @param key SQL of the key, by which the page is sorted.
 * @param after SQL condition for the keys after $2.
 * @param name SQL of a URL or guid.
 * @param current SQL of the subscription's current URL or guid, which is no alias.
 */
const selectAliases = (
  table: string,
  key: string,
  after: string,
  name: string,
  current: string,
) => `
  SELECT c.refused, found.* FROM ${clockOfUser} c
  LEFT JOIN (
    SELECT ${key} AS key, ${name} AS name, s.guid FROM ${table} n
    JOIN subscription.subscriptions s ON s.user_id = $1 AND s.id = n.subscription_id
    WHERE n.user_id = $1 AND ${after} AND ${name} <> ${current}
    ORDER BY ${key} LIMIT ${perPage}
  ) found ON true
  ORDER BY found.key`;

const hashOfUrl = 'n.url_sha256';
const statementsByKind = {
  feed_url: statement(
    'subscription.select_former_urls',
    selectAliases(
      'subscription.feed_urls',
      hashOfUrl,
      `${hashOfUrl} > decode($2, 'hex')`,
      'n.url',
      's.feed_url',
    ),
  ),
  guid: statement(
    'subscription.select_former_guids',
    selectAliases('subscription.guids', 'n.guid', 'n.guid > $2::uuid', 'n.guid', 's.guid'),
  ),
};

/** The value of `after` for the first page, lower than any key, by kind of name. */
const afterOfFirstPage = { feed_url: '', guid: '00000000-0000-0000-0000-000000000000' };

interface Row {
  refused: number | null;
  key: Buffer | string | null;
  name: string;
  guid: string;
}

/**
 * Returns a page of former feed URLs or former guids.
 *
 * @throws Failure `unauthorized` for a refused user.
 */
export async function listFormer(
  database: Database,
  { userId, kind, after = afterOfFirstPage[kind] }: RequestOf<typeof listFormerNames>,
): Promise<ReplyOf<typeof listFormerNames>> {
  const rows = await database.read<Row>(statementsByKind[kind], [userId, after]);
  unlessRefused(rows[0]);
  const aliases = rows.filter(({ key }) => key !== null);
  const lastKey = aliases.at(-1)?.key;
  return {
    names: aliases.map(({ name, guid }) => ({ name, guid })),
    ...(aliases.length === perPage && { next: formatKey(lastKey) }),
  };
}

function formatKey(key: Buffer | string | null | undefined): string {
  return Buffer.isBuffer(key) ? key.toString('hex') : String(key);
}
