import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { faultKind } from '#database';
import { type Log, RepeatingTask } from '#runtime';
import { DataSource } from 'typeorm';
import { LOG } from './account.config.js';
import { queryRows } from './people/query-rows.js';

/** Minimum milliseconds between sweeps. Each pause is randomly 1 to 2 times as long. */
const minPauseMs = 60_000;
/** Maximum rows that one SQL statement scans or deletes. Short statements hold locks briefly. */
const rowsPerStatement = 1_000;

/**
 * SQL conditions of expired rows by table. The issuer's rows (`oidc`) stay for an hour after they
 * expire, so that late requests are answered as expired. OAuth clients that no user ever allowed
 * expire a day after their registration.
 */
const expiredRows = {
  sessions: 'expires_at <= now()',
  links: 'expires_at <= now()',
  logins: 'expires_at <= now()',
  oidc: `expires_at < now() - interval '1 hour'`,
  clients: `used_at IS NULL AND created_at < now() - interval '1 day'`,
} as const;

/**
 * Maximum rows that one sweep scans per table for {@link orphanedRows}. The next sweep scans the
 * rows after them.
 */
const maxScannedRows = 10_000;

/**
 * SQL conditions of orphaned rows by table; `key` is the column that orders the scan. Codes and
 * tokens are orphaned if their grant is deleted. OAuth clients are orphaned if they have no grant
 * and their last use is over a day ago.
 */
const orphanedRows = {
  oidc: {
    key: 'grant_id',
    condition: `t.model <> 'Grant' AND NOT EXISTS (
      SELECT FROM account.oidc g WHERE g.grant_id = t.grant_id AND g.model = 'Grant')`,
  },
  clients: {
    key: 'id',
    condition: `t.used_at < now() - interval '1 day' AND NOT EXISTS (
      SELECT FROM account.oidc g WHERE g.payload ->> 'clientId' = t.id AND g.model = 'Grant')`,
  },
} as const;

/** Deletes expired and orphaned rows every 1 to 2 minutes. Replicas can sweep concurrently. */
@Injectable()
export class Sweep implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly task = new RepeatingTask(
    () => minPauseMs * (1 + Math.random()),
    () => this.sweepAndLog(),
  );
  private isStopping = false;
  /** Last scanned key of {@link orphanedRows} by table; empty before a scan from the first row. */
  private readonly lastScannedKeys = { oidc: '', clients: '' };

  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @Inject(LOG) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.task.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.task.stop();
  }

  /**
   * Deletes all expired rows, and the orphaned rows among the next 10,000 rows of each table. Skips
   * rows that other transactions have locked.
   *
   * @returns number of deleted rows.
   */
  async sweep(): Promise<number> {
    let deletedCount = 0;
    for (const [table, condition] of Object.entries(expiredRows)) {
      let batchSize: number;
      do {
        const rows = await queryRows(
          this.source.manager,
          `DELETE FROM account.${table} WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM account.${table} WHERE ${condition}
             LIMIT ${rowsPerStatement} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
        );
        batchSize = rows.length;
        deletedCount += batchSize;
      } while (batchSize === rowsPerStatement && !this.isStopping);
    }
    for (const table of ['oidc', 'clients'] as const)
      deletedCount += await this.sweepOrphaned(table);
    return deletedCount;
  }

  private async sweepOrphaned(table: keyof typeof orphanedRows): Promise<number> {
    const { key, condition } = orphanedRows[table];
    let deletedCount = 0;
    for (
      let scanned = 0;
      scanned < maxScannedRows && !this.isStopping;
      scanned += rowsPerStatement
    ) {
      const [batch] = await queryRows<{ last: string | null; seen: number; deleted: number }>(
        this.source.manager,
        `WITH seen AS (
           SELECT ctid AS place, ${key} AS key FROM account.${table}
           WHERE ${key} > $1 ORDER BY ${key} LIMIT ${rowsPerStatement}),
         orphaned AS (
           SELECT t.ctid AS place FROM account.${table} t
           WHERE t.ctid = ANY (ARRAY(SELECT place FROM seen)) AND ${condition}
           FOR UPDATE SKIP LOCKED),
         deleted AS (
           DELETE FROM account.${table} WHERE ctid = ANY (ARRAY(SELECT place FROM orphaned))
           RETURNING 1)
         SELECT (SELECT max(key) FROM seen) AS last, (SELECT count(*)::integer FROM seen) AS seen,
           (SELECT count(*)::integer FROM deleted) AS deleted`,
        [this.lastScannedKeys[table]],
      );
      deletedCount += batch?.deleted ?? 0;
      this.lastScannedKeys[table] = batch?.last ?? '';
      if (batch?.seen !== rowsPerStatement) {
        this.lastScannedKeys[table] = '';
        break;
      }
    }
    return deletedCount;
  }

  private async sweepAndLog(): Promise<void> {
    try {
      const deleted = await this.sweep();
      if (deleted > 0) this.log.debug({ deleted }, 'expired and orphaned rows deleted');
    } catch (error) {
      // Omits outages of Postgres, because `openReplica` logs their start and end.
      if (faultKind(error) !== 'unavailable')
        this.log.warn({ err: error }, 'deletion of expired rows failed, retrying in 1 to 2 min');
    }
  }
}
