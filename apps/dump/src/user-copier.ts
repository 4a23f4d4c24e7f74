import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { selectMigrations, type Table, selectTables } from './backup/backup-format.js';

/** Tables with the rows of a user, in an order in which referenced tables come first. */
export const copiedTables = [
  'sync.user_clock',
  'sync.request',
  'sync.answer',
  'sync.readers',
  'sync.reader_sessions',
  'subscription.subscriptions',
  'subscription.guids',
  'subscription.former_guids',
  'subscription.feed_urls',
  'subscription.totals',
  'episode.episodes',
  'episode.states',
  'episode.sync_ids',
  'episode.totals',
  'deletion.deletions',
] as const;

/** Sequences of row ids, with the tables that use them. */
const copiedSequences = [
  ['subscription.subscription_id', 'subscription.subscriptions'],
  ['episode.episode_id', 'episode.episodes'],
] as const;

interface CopyCounts {
  users: number;
  rows: number;
  /** Users whose state is the same in the target. */
  same: number;
  /** Users without data in the source. */
  unknown: number;
  /** Users who were rejected, with a reason. */
  refused: number;
}

interface RefusedUser {
  readonly id: string;
  readonly reason: string;
}

/** A user's clock. `refused` is 2 or 3 for a user who is being erased or was erased. */
interface CopiedClock {
  readonly id: string;
  readonly stamp: string;
  readonly refused: number | null;
}

const selectClocks = `
  SELECT c.user_id AS id, to_char(c.stamp, 'YYYY-MM-DD"T"HH24:MI:SS.MS') AS stamp, c.refused
  FROM sync.user_clock c WHERE c.user_id = ANY ($1::uuid[])`;
const pendingDeletions = `
  SELECT DISTINCT d.user_id AS id FROM deletion.deletions d
  WHERE d.user_id = ANY ($1::uuid[]) AND d.status = 'PENDING'`;

/** Ids by which a sequence exceeds the copied ids, because other sessions use it concurrently. */
const sequenceMargin = 100_000;

/**
 * Copies users' rows from one database to another of the same schema version. Invariants:
 * - {@link copy} reads its users from one snapshot and writes them in one transaction: after a
 *   crash the target has all rows of a user or none;
 * - an existing user of the target never changes, unless `replace` is set and the target's clock is
 *   not later;
 * - row ids that the target assigns later are higher than the copied ones.
 */
export class UserCopier {
  readonly counts: CopyCounts = { users: 0, rows: 0, same: 0, unknown: 0, refused: 0 };
  private readonly columns = new Map<string, string>();

  constructor(
    private readonly source: pg.Client,
    private readonly target: pg.Client,
    private readonly replace: boolean,
  ) {}

  /** Reads the tables' columns. @throws Error unless both databases have the same migrations. */
  async checkSchemas(): Promise<void> {
    const [here, there] = await Promise.all(
      [this.source, this.target].map(
        async (client) => (await client.query<{ name: string }>(selectMigrations)).rows,
      ),
    );
    if (JSON.stringify(here) !== JSON.stringify(there))
      throw new Error(
        'the databases have different schema versions: run the same release of migrate on both',
      );
    const { rows } = await this.source.query<Table>(selectTables);
    for (const { name, columns } of rows) this.columns.set(name, columns);
  }

  /**
   * Copies users in one transaction.
   *
   * @returns the rejected users.
   * @throws the Error of either database. Then both connections have to be closed: the one of the
   *   source can have an unread COPY.
   */
  async copy(ids: readonly string[]): Promise<RefusedUser[]> {
    await this.source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await this.target.query('BEGIN');
    try {
      const { accepted, refused } = await this.check(ids);
      const rows = accepted.length > 0 ? await this.copyRows(accepted) : 0;
      await this.target.query('COMMIT');
      await this.source.query('COMMIT');
      this.counts.users += accepted.length;
      this.counts.rows += rows;
      this.counts.refused += refused.length;
      return refused;
    } catch (error) {
      await this.target.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  private async check(
    ids: readonly string[],
  ): Promise<{ accepted: string[]; refused: RefusedUser[] }> {
    const [here, there, pending] = [
      await clocksOf(this.source, ids),
      await clocksOf(this.target, ids),
      new Set(
        (await this.source.query<{ id: string }>(pendingDeletions, [ids])).rows.map(({ id }) => id),
      ),
    ];
    const accepted: string[] = [];
    const refused: RefusedUser[] = [];
    for (const id of ids) {
      const [from, to] = [here.get(id), there.get(id)];
      const reason = from && this.reasonAgainst(from, to, pending.has(id));
      if (!from) this.counts.unknown += 1;
      else if (reason !== undefined) refused.push({ id, reason });
      else if (to?.stamp === from.stamp) this.counts.same += 1;
      else accepted.push(id);
    }
    return { accepted, refused };
  }

  private reasonAgainst(
    from: CopiedClock,
    to: CopiedClock | undefined,
    isPending: boolean,
  ): string | undefined {
    if ((from.refused ?? 0) > 1) return 'the user is erased or being erased';
    if ((to?.refused ?? 0) > 1) return 'the user is erased or being erased in the target';
    if (isPending) return 'a deletion of the user is PENDING: copy the user when it has finished';
    if (!to || to.stamp === from.stamp || (this.replace && to.stamp < from.stamp)) return undefined;
    return to.stamp < from.stamp
      ? 'the target has an earlier state of the user: replace it with --replace'
      : 'the target has a later state of the user';
  }

  private async copyRows(ids: readonly string[]): Promise<number> {
    if (this.replace)
      for (const table of copiedTables.toReversed())
        await this.target.query(`DELETE FROM ${table} WHERE user_id = ANY ($1::uuid[])`, [ids]);
    // COPY accepts no parameters.
    const users = pg.escapeLiteral(`{${ids.join(',')}}`);
    let rows = 0;
    for (const table of copiedTables) {
      const columns = this.columns.get(table);
      const query = `SELECT ${columns} FROM ${table} WHERE user_id = ANY (${users}::uuid[])`;
      const into = this.target.query(copyFrom(`COPY ${table} (${columns}) FROM STDIN`));
      await pipeline(this.source.query(copyTo(`COPY (${query}) TO STDOUT`)), into);
      rows += into.rowCount;
    }
    for (const [sequence, table] of copiedSequences) {
      // On Citus, a statement about rows of users cannot read a sequence as well.
      const newest = await this.target.query<{ id: string | null }>(
        `SELECT max(id) AS id FROM ${table} WHERE user_id = ANY ($1::uuid[])`,
        [ids],
      );
      await this.target.query(
        `SELECT setval($1::regclass, $2::bigint + ${sequenceMargin}) FROM ${sequence} s
         WHERE $2::bigint >= s.last_value`,
        [sequence, newest.rows[0]?.id],
      );
    }
    return rows;
  }
}

async function clocksOf(
  client: pg.Client,
  ids: readonly string[],
): Promise<Map<string, CopiedClock>> {
  const { rows } = await client.query<CopiedClock>(selectClocks, [ids]);
  return new Map(rows.map((clock) => [clock.id, clock]));
}
