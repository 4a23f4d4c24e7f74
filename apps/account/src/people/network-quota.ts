import type { EntityManager } from 'typeorm';

/** Returns SQL that shortens an IPv6 /64 network to `bits`, and leaves other values unchanged. */
const shortenNetwork = (column: string, bits: 48 | 56) =>
  `CASE WHEN ${column} ~ '^([0-9a-f]{1,4}:){4}:/64$'
     THEN set_masklen(${column}::cidr, ${bits})::text ELSE ${column} END`;

/** Limit of the rows that unauthenticated clients create in a table with a column `network`. */
export interface LimitedRows {
  readonly table: 'clients' | 'logins' | 'oidc';
  /** SQL condition of the rows that count towards the limit. */
  readonly condition: string;
  readonly max: number;
}

/**
 * If there are more than `max` rows, deletes rows until 99% of `max` remain. Each deleted row is
 * the oldest of the network that then has the most rows. Call it after the commit of an insert, so
 * that the last of concurrent calls sees all rows.
 *
 * IPv6 networks are compared as /48, then /56, then /64, since providers assign one of these sizes
 * to a customer. The newest row of a network has rank 1; the highest ranks are deleted first. A /48
 * orders its rows by their rank in their /56, and a /56 by their rank in their /64. So the /56 of a
 * /48, and the /64 of a /56, keep equally many rows.
 */
export async function deleteExcessRowsByNetwork(
  manager: EntityManager,
  { table, condition, max: maxRows }: LimitedRows,
): Promise<void> {
  await manager.query(
    `WITH counted AS MATERIALIZED (SELECT count(*) AS rows FROM account.${table} WHERE ${condition})
     DELETE FROM account.${table} WHERE ctid = ANY (ARRAY(
       SELECT place FROM (
         SELECT place, created_at,
           row_number() OVER (PARTITION BY n48 ORDER BY rank56, created_at DESC) AS rank48
         FROM (
           SELECT *, row_number() OVER (PARTITION BY n56 ORDER BY rank64, created_at DESC) AS rank56
           FROM (
             SELECT ctid AS place, created_at, ${shortenNetwork('network', 48)} AS n48,
               ${shortenNetwork('network', 56)} AS n56,
               row_number() OVER (PARTITION BY network ORDER BY created_at DESC) AS rank64
             FROM account.${table} WHERE ${condition}) by64) by56) by48
       WHERE (SELECT rows FROM counted) > $1
       ORDER BY rank48 DESC, created_at
       LIMIT (SELECT rows - $1 + $2 FROM counted WHERE rows > $1)))`,
    [maxRows, Math.floor(maxRows / 100)],
  );
}
