import { EventEmitter, once } from 'node:events';
import { type Database, statement } from '#database';
import { dueImages } from './artwork/image.repository.js';
import { dueImports } from './import/import.repository.js';
import { duePreviews } from './preview/preview.repository.js';
import { dueLanes } from './schedule/lane.sql.js';
import { dueTasks, dueTouched } from './task/task.repository.js';

/** Interval of the polls in milliseconds. */
const pollMs = 500;

/** Looks for work of each loop. The order makes Postgres use the indexes, unlike EXISTS. */
export const selectDueWork = statement(
  'feed.due_work',
  `SELECT (${duePreviews} LIMIT 1) IS NOT NULL AS previews,
     (${dueImports} LIMIT 1) IS NOT NULL AS imports,
     (${dueLanes} ORDER BY d.next_at LIMIT 1) IS NOT NULL AS lanes,
     (${dueImages} ORDER BY d.next_at LIMIT 1) IS NOT NULL AS images,
     (${dueTouched} LIMIT 1) IS NOT NULL OR (${dueTasks} LIMIT 1) IS NOT NULL AS tasks`,
);

/** Kinds of work, by the column of the statement. */
const kinds = ['previews', 'imports', 'lanes', 'images', 'tasks'] as const;
type Kind = (typeof kinds)[number];

/**
 * Wakes up the loops of this process when there is work for them. One statement looks for the work
 * of all loops, so that an idle replica sends one statement per interval.
 */
export class DueWork {
  private readonly events = new EventEmitter();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly database: Database) {}

  /** Resolves when work of a kind is due, when Postgres failed, or at the abort of the signal. */
  async wait(kind: Kind, signal: AbortSignal): Promise<void> {
    this.pollLater();
    await once(this.events, kind, { signal }).catch(() => undefined);
  }

  private async poll(): Promise<void> {
    // The loops log outages of Postgres.
    const [due] = await this.database
      .read<Record<Kind, boolean>>(selectDueWork, [])
      .catch(() => [undefined]);
    this.timer = undefined;
    for (const kind of kinds) if (due?.[kind] ?? true) this.events.emit(kind);
    if (kinds.some((kind) => this.events.listenerCount(kind) > 0)) this.pollLater();
  }

  private pollLater(): void {
    this.timer ??= setTimeout(() => void this.poll(), pollMs).unref();
  }
}
