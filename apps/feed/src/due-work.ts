import { EventEmitter, once } from 'node:events';
import { type Database, statement } from '#database';
import { dueImages } from './artwork/image.repository.js';
import { dueImports } from './import/import.repository.js';
import { duePreviews } from './preview/preview.repository.js';
import { dueLanes } from './schedule/lane.sql.js';
import { dueTasks, dueTouched } from './task/task.repository.js';

/** Intervals between polls for due work in milliseconds: while there is work, and without work. */
const [pollMs, idlePollMs] = [500, 5_000];
/** Time without work after which the longer interval applies, in milliseconds. */
const activeMs = 10_000;

/**
 * Reads, for each kind of work, whether some of it is due. ORDER BY with LIMIT makes Postgres use
 * the indexes of `next_at`. EXISTS would not.
 */
export const selectDueWork = statement(
  'feed.due_work',
  `SELECT (${duePreviews} LIMIT 1) IS NOT NULL AS previews,
     (${dueImports} LIMIT 1) IS NOT NULL AS imports,
     (${dueLanes} ORDER BY d.next_at LIMIT 1) IS NOT NULL AS lanes,
     (${dueImages} ORDER BY d.next_at LIMIT 1) IS NOT NULL AS images,
     (${dueTouched} LIMIT 1) IS NOT NULL OR (${dueTasks} LIMIT 1) IS NOT NULL AS tasks`,
);

/** The kinds of work, each a column of {@link selectDueWork}. */
const workKinds = ['previews', 'imports', 'lanes', 'images', 'tasks'] as const;
export type WorkKind = (typeof workKinds)[number];

/**
 * Wakes up the loops of this process when there is work for them. One statement looks for the work
 * of all loops. Invariants:
 * - Work that a request of this process stored is found within 500 ms ({@link notify}).
 * - Other work is found within 5 s, and within 500 ms if there was work in the last 10 s.
 */
export class DueWork {
  private readonly events = new EventEmitter();
  private pollTimer: NodeJS.Timeout | undefined;
  /** Polls have the shorter interval until this time, in milliseconds of `performance.now()`. */
  private activeUntil = performance.now() + activeMs;
  /** True while the next poll waits for the longer interval. */
  private isIdle = false;

  constructor(private readonly database: Database) {}

  /** Resolves when work of a kind is due, when Postgres fails, or when the signal is aborted. */
  async wait(kind: WorkKind, signal: AbortSignal): Promise<void> {
    this.schedulePoll();
    await once(this.events, kind, { signal }).catch(() => undefined);
  }

  /** Shortens the interval of the polls for 10 s. Requests that have stored work call it. */
  notify(): void {
    this.activeUntil = performance.now() + activeMs;
    if (!this.isIdle) return;
    clearTimeout(this.pollTimer);
    this.pollTimer = undefined;
    this.schedulePoll();
  }

  private async poll(): Promise<void> {
    this.isIdle = false;
    // A failed poll wakes up all loops. Their statements then also fail, so the loops log the
    // outage.
    const [dueByKind] = await this.database
      .read<Record<WorkKind, boolean>>(selectDueWork, [])
      .catch(() => [undefined]);
    this.pollTimer = undefined;
    const isWaiting = (kind: string) => this.events.listenerCount(kind) > 0;
    if (workKinds.some((kind) => dueByKind?.[kind] && isWaiting(kind)))
      this.activeUntil = performance.now() + activeMs;
    for (const kind of workKinds) if (dueByKind?.[kind] ?? true) this.events.emit(kind);
    if (workKinds.some(isWaiting)) this.schedulePoll();
  }

  private schedulePoll(): void {
    if (this.pollTimer) return;
    this.isIdle = performance.now() > this.activeUntil;
    this.pollTimer = setTimeout(() => void this.poll(), this.isIdle ? idlePollMs : pollMs).unref();
  }
}
