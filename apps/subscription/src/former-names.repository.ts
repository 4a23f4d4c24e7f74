import type { listFormerNames, ReplyOf, RequestOf } from '#contracts';
import { clockOfUser, type Database, statement, unlessRefused } from '#database';

/** Aliases per page. A URL has at most 4,096 bytes. */
const perPage = 250;

/** Returns SQL that selects a page of aliases `n` after the key $2, by the primary key. */
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

/** Lower bounds of all keys. */
const first = { feed_url: '', guid: '00000000-0000-0000-0000-000000000000' };

interface Row {
  refused: number | null;
  key: Buffer | string | null;
  name: string;
  guid: string;
}

/** Returns a page of former feed URLs or guids. @throws Failure `unauthorized`. */
export async function listFormer(
  database: Database,
  { userId, kind, after = first[kind] }: RequestOf<typeof listFormerNames>,
): Promise<ReplyOf<typeof listFormerNames>> {
  const rows = await database.read<Row>(statementsByKind[kind], [userId, after]);
  unlessRefused(rows[0]);
  const found = rows.filter(({ key }) => key !== null);
  const last = found.at(-1)?.key;
  return {
    names: found.map(({ name, guid }) => ({ name, guid })),
    ...(found.length === perPage && { next: keyText(last) }),
  };
}

function keyText(key: Buffer | string | null | undefined): string {
  return Buffer.isBuffer(key) ? key.toString('hex') : String(key);
}
