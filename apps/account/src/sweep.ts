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
import { rowsOf } from './people/statement.rows.js';

/** Milliseconds between sweeps; randomly up to twice as long, to spread replicas. */
const pauseMs = 60_000;
/** Rows per statement, to keep its locks short. */
const perStep = 1_000;

/**
 * Conditions for expired rows by table. Rows of the issuer stay for an hour, so that late requests
 * are answered as expired. Apps that were never used expire after a day and must register again.
 */
const expired = {
  sessions: 'expires_at <= now()',
  links: 'expires_at <= now()',
  logins: 'expires_at <= now()',
  oidc: `expires_at < now() - interval '1 hour'`,
  clients: `used_at IS NULL AND created_at < now() - interval '1 day'`,
} as const;

/** Maximum rows per table that a sweep checks for {@link left}; the next one continues. */
const mostLookedAt = 10_000;

/**
 * Conditions for orphaned rows by table, with the column that orders the scan: codes and tokens
 * without their grant, and apps without any grant.
 */
const left = {
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
  /** Last key that the scan for {@link left} reached, by table. */
  private readonly passed = { oidc: '', clients: '' };

  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @Inject(LOG) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.plan();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.timer);
    await this.current;
  }

  /** Deletes all expired rows and a part of the orphaned ones. @returns number of rows. */
  async sweep(): Promise<number> {
    let removed = 0;
    for (const [table, condition] of Object.entries(expired)) {
      let step: number;
      do {
        const rows = await rowsOf(
          this.source.manager,
          `DELETE FROM account.${table} WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM account.${table} WHERE ${condition} LIMIT ${perStep} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
        );
        step = rows.length;
        removed += step;
      } while (step === perStep && !this.isStopping);
    }
    for (const table of ['oidc', 'clients'] as const) removed += await this.sweepLeft(table);
    return removed;
  }

  private async sweepLeft(table: keyof typeof left): Promise<number> {
    const { key, condition } = left[table];
    let removed = 0;
    for (let looked = 0; looked < mostLookedAt && !this.isStopping; looked += perStep) {
      const [step] = await rowsOf<{ last: string | null; seen: number; removed: number }>(
        this.source.manager,
        `WITH seen AS (
           SELECT ctid AS place, ${key} AS key FROM account.${table} WHERE ${key} > $1 ORDER BY ${key} LIMIT ${perStep}),
         useless AS (
           SELECT t.ctid AS place FROM account.${table} t
           WHERE t.ctid = ANY (ARRAY(SELECT place FROM seen)) AND ${condition} FOR UPDATE SKIP LOCKED),
         gone AS (DELETE FROM account.${table} WHERE ctid = ANY (ARRAY(SELECT place FROM useless)) RETURNING 1)
         SELECT (SELECT max(key) FROM seen) AS last, (SELECT count(*)::integer FROM seen) AS seen,
           (SELECT count(*)::integer FROM gone) AS removed`,
        [this.passed[table]],
      );
      removed += step?.removed ?? 0;
      this.passed[table] = step?.last ?? '';
      if (step?.seen !== perStep) {
        this.passed[table] = '';
        break;
      }
    }
    return removed;
  }

  private plan(): void {
    if (this.isStopping) return;
    this.timer = setTimeout(() => (this.current = this.run()), pauseMs * (1 + Math.random()));
  }

  private async run(): Promise<void> {
    try {
      const removed = await this.sweep();
      if (removed > 0) this.log.debug({ removed }, 'removed what had expired');
    } catch (error) {
      // An outage is logged by its start and its end.
      if (faultKind(error) !== 'unavailable')
        this.log.warn(
          { err: error },
          'what has expired could not be removed; the next sweep tries again',
        );
    }
    this.plan();
  }
}
