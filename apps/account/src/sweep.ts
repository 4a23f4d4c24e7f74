import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Log } from '#runtime';
import { DataSource } from 'typeorm';
import { LOG } from './account.config.js';
import { rowsOf } from './people/statement.rows.js';

/** The pause between two sweeps, in milliseconds; at random up to twice as long, so that replicas are not in step. */
const pauseMs = 60_000;
/** Rows of one statement: its locks are short. */
const perStep = 1_000;

/**
 * What expired, table by table. A row of the issuer stays for an hour after its end, so that who comes late is told so. An
 * app that nobody used goes after a day, and has to register again.
 */
const expired = {
  sessions: 'expires_at <= now()',
  links: 'expires_at <= now()',
  logins: 'expires_at <= now()',
  oidc: `expires_at < now() - interval '1 hour'`,
  clients: `used_at IS NULL AND created_at < now() - interval '1 day'`,
} as const;

/** Rows of each table that one sweep looks at for {@link left}, at most: the next one goes on from there. */
const mostLookedAt = 10_000;

/**
 * What is left of what ended, table by table, with the column by which the sweep passes all rows in turn: codes and tokens
 * of a grant that is gone, and apps that nobody allows anything any more.
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

/** Removes what has expired, in small steps that any replica may do at any time. */
@Injectable()
export class Sweep implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private current: Promise<unknown> = Promise.resolve();
  private isStopping = false;
  /** The key that the last sweep came to, of each table of {@link left}. */
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

  /** Removes all that has expired, and of what is left as much as it comes to. @returns how many rows. */
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
      this.log.warn({ err: error }, 'what has expired could not be removed; the next sweep tries again');
    }
    this.plan();
  }
}
