import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { selectMigrations, type Table, selectTables } from './backup/backup-format.js';

/** Tables with users' rows. Each table comes after the tables that it references. */
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
  /** Users who are skipped, because both databases have the same clock. */
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

/** A user's clock. `refused` is 2 or 3 for a user who is erased or being erased. */
interface CopiedClock {
  readonly id: string;
  readonly stamp: string;
  readonly refused: number | null;
}

const selectClocks = `
  SELECT c.user_id AS id, to_char(c.stamp, 'YYYY-MM-DD"T"HH24:MI:SS.MS') AS stamp, c.refused
  FROM sync.user_clock c WHERE c.user_id = ANY ($1::uuid[])`;
const selectPendingDeletions = `
  SELECT DISTINCT d.user_id AS id FROM deletion.deletions d
  WHERE d.user_id = ANY ($1::uuid[]) AND d.status = 'PENDING'`;

/**
 * Number of ids by which a raised sequence exceeds the highest copied id. Other sessions can draw
 * ids while the sequence is raised. Because of the margin, no id is drawn twice.
 */
const sequenceMargin = 100_000;

/**
 * Copies users' rows from one database to another of the same schema version. Invariants:
 * - {@link copy} reads users from one snapshot and writes them in one transaction. After a crash,
 *   the target has all rows of a user or none;
 * - an existing user of the target never changes, unless `replace` is set and the target's clock is
 *   earlier;
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
    const [sourceMigrations, targetMigrations] = await Promise.all(
      [this.source, this.target].map(
        async (client) => (await client.query<{ name: string }>(selectMigrations)).rows,
      ),
    );
    if (JSON.stringify(sourceMigrations) !== JSON.stringify(targetMigrations))
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
   * @throws the error of either database. The caller must then close both connections, because the
   *   connection of the source can have an unread COPY.
   */
  async copy(ids: readonly string[]): Promise<RefusedUser[]> {
    await this.source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await this.target.query('BEGIN');
    try {
      const { accepted, refused } = await this.checkUsers(ids);
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

  private async checkUsers(
    ids: readonly string[],
  ): Promise<{ accepted: string[]; refused: RefusedUser[] }> {
    const [sourceClocks, targetClocks, pendingIds] = [
      await readClocks(this.source, ids),
      await readClocks(this.target, ids),
      new Set(
        (await this.source.query<{ id: string }>(selectPendingDeletions, [ids])).rows.map(
          ({ id }) => id,
        ),
      ),
    ];
    const accepted: string[] = [];
    const refused: RefusedUser[] = [];
    for (const id of ids) {
      const [sourceClock, targetClock] = [sourceClocks.get(id), targetClocks.get(id)];
      const reason =
        sourceClock && this.findRejectionReason(sourceClock, targetClock, pendingIds.has(id));
      if (!sourceClock) this.counts.unknown += 1;
      else if (reason !== undefined) refused.push({ id, reason });
      else if (targetClock?.stamp === sourceClock.stamp) this.counts.same += 1;
      else accepted.push(id);
    }
    return { accepted, refused };
  }

  /** Returns why a user must not be copied; undefined if there is no such reason. */
  private findRejectionReason(
    sourceClock: CopiedClock,
    targetClock: CopiedClock | undefined,
    hasPendingDeletion: boolean,
  ): string | undefined {
    if ((sourceClock.refused ?? 0) > 1) return 'the user is erased or being erased';
    if ((targetClock?.refused ?? 0) > 1) return 'the user is erased or being erased in the target';
    if (hasPendingDeletion)
      return 'a deletion of the user is PENDING: copy the user when it has finished';
    if (!targetClock || targetClock.stamp === sourceClock.stamp) return undefined;
    const isTargetEarlier = targetClock.stamp < sourceClock.stamp;
    if (this.replace && isTargetEarlier) return undefined;
    return isTargetEarlier
      ? 'the target has an earlier state of the user: replace it with --replace'
      : 'the target has a later state of the user';
  }

  private async copyRows(ids: readonly string[]): Promise<number> {
    if (this.replace)
      for (const table of copiedTables.toReversed())
        await this.target.query(`DELETE FROM ${table} WHERE user_id = ANY ($1::uuid[])`, [ids]);
    // The ids are part of the query, because COPY accepts no parameters.
    const idsLiteral = pg.escapeLiteral(`{${ids.join(',')}}`);
    let rows = 0;
    for (const table of copiedTables) {
      const columns = this.columns.get(table);
      const query = `SELECT ${columns} FROM ${table} WHERE user_id = ANY (${idsLiteral}::uuid[])`;
      const copyStream = this.target.query(copyFrom(`COPY ${table} (${columns}) FROM STDIN`));
      await pipeline(this.source.query(copyTo(`COPY (${query}) TO STDOUT`)), copyStream);
      rows += copyStream.rowCount;
    }
    for (const [sequence, table] of copiedSequences) {
      // These are two statements, because on Citus a statement that reads users' rows cannot also
      // read a sequence.
      const highestId = await this.target.query<{ id: string | null }>(
        `SELECT max(id) AS id FROM ${table} WHERE user_id = ANY ($1::uuid[])`,
        [ids],
      );
      await this.target.query(
        `SELECT setval($1::regclass, $2::bigint + ${sequenceMargin}) FROM ${sequence} s
         WHERE $2::bigint >= s.last_value`,
        [sequence, highestId.rows[0]?.id],
      );
    }
    return rows;
  }
}

async function readClocks(
  client: pg.Client,
  ids: readonly string[],
): Promise<Map<string, CopiedClock>> {
  const { rows } = await client.query<CopiedClock>(selectClocks, [ids]);
  return new Map(rows.map((clock) => [clock.id, clock]));
}
