import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { faultKind } from '#database';
import type { Log } from '#runtime';
import { DataSource } from 'typeorm';
import { LOG } from './account.config.js';
import { queryRows } from './people/query-rows.js';

/** Minimum milliseconds between sweeps; randomly up to twice as long, to spread replicas. */
const pauseMs = 60_000;
/** Rows per statement, to keep its locks short. */
const rowsPerStatement = 1_000;

/**
 * Conditions of expired rows by table. Rows of the issuer stay for an hour, so that late requests
 * are reported as expired. Apps that were never used expire after a day.
 */
const expired = {
  sessions: 'expires_at <= now()',
  links: 'expires_at <= now()',
  logins: 'expires_at <= now()',
  oidc: `expires_at < now() - interval '1 hour'`,
  clients: `used_at IS NULL AND created_at < now() - interval '1 day'`,
} as const;

/** Maximum number of rows per table that a sweep scans for {@link orphaned}; the next continues. */
const maxScanned = 10_000;

/**
 * Conditions of orphaned rows by table, with the column that orders the scan: codes and tokens
 * without their grant, and apps without a grant.
 */
const orphaned = {
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

/** Deletes expired rows in small steps, which all replicas can run concurrently. */
@Injectable()
export class Sweep implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private current: Promise<unknown> = Promise.resolve();
  private isStopping = false;
  /** Last scanned key of {@link orphaned} by table. */
  private readonly cursors = { oidc: '', clients: '' };

  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @Inject(LOG) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.schedule();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.timer);
    await this.current;
  }

  /** Deletes all expired rows and a part of the orphaned ones. @returns number of rows. */
  async sweep(): Promise<number> {
    let deleted = 0;
    for (const [table, condition] of Object.entries(expired)) {
      let step: number;
      do {
        const rows = await queryRows(
          this.source.manager,
          `DELETE FROM account.${table} WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM account.${table} WHERE ${condition}
             LIMIT ${rowsPerStatement} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
        );
        step = rows.length;
        deleted += step;
      } while (step === rowsPerStatement && !this.isStopping);
    }
    for (const table of ['oidc', 'clients'] as const) deleted += await this.sweepOrphaned(table);
    return deleted;
  }

  private async sweepOrphaned(table: keyof typeof orphaned): Promise<number> {
    const { key, condition } = orphaned[table];
    let deleted = 0;
    for (let scanned = 0; scanned < maxScanned && !this.isStopping; scanned += rowsPerStatement) {
      const [step] = await queryRows<{ last: string | null; seen: number; deleted: number }>(
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
        [this.cursors[table]],
      );
      deleted += step?.deleted ?? 0;
      this.cursors[table] = step?.last ?? '';
      if (step?.seen !== rowsPerStatement) {
        this.cursors[table] = '';
        break;
      }
    }
    return deleted;
  }

  private schedule(): void {
    if (this.isStopping) return;
    this.timer = setTimeout(() => (this.current = this.run()), pauseMs * (1 + Math.random()));
  }

  private async run(): Promise<void> {
    try {
      const deleted = await this.sweep();
      if (deleted > 0) this.log.debug({ removed: deleted }, 'expired rows deleted');
    } catch (error) {
      // The start and the end of an outage are logged elsewhere.
      if (faultKind(error) !== 'unavailable')
        this.log.warn({ err: error }, 'expired rows not deleted, retrying with the next sweep');
    }
    this.schedule();
  }
}
