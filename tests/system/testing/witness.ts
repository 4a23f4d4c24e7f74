import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { SimulatedUser } from './simulated-user.js';

const snapshot = `
  SELECT s.deleted IS NOT NULL AS deleted,
    (SELECT count(*)::int FROM episode.episodes e WHERE e.user_id = s.user_id) AS episodes,
    (SELECT count(*)::int FROM episode.sync_ids i WHERE i.user_id = s.user_id) AS "syncIds",
    (SELECT d.status FROM deletion.deletions d
    WHERE d.user_id = s.user_id ORDER BY d.id DESC LIMIT 1) AS status
  FROM subscription.subscriptions s WHERE s.user_id = $1`;

/**
 * Repeatedly reads all data of a user: the lists over HTTP, the tables in one snapshot. Each read
 * must find the subscription with all episodes or, permanently from one read on, nothing.
 */
export class Witness {
  /** Number of answered reads. */
  reads = 0;
  private gone = false;
  private stopped = false;
  private readonly watching: Promise<void>;

  constructor(
    private readonly user: SimulatedUser,
    private readonly owner: pg.Pool,
    private readonly episodes: number,
  ) {
    this.watching = this.watch();
    // stop() rejects with it.
    this.watching.catch(() => undefined);
  }

  /** Ends the watch. @throws what it found half done. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.watching;
  }

  private async watch(): Promise<void> {
    while (!this.stopped) {
      for (const isGone of [() => this.subscriptions(), () => this.listed(), () => this.tables()]) {
        const gone = await isGone();
        if (gone === undefined) continue;
        if (this.gone && !gone) throw new Error('what was deleted is there again');
        this.gone = gone;
        this.reads += 1;
      }
      await pause(20);
    }
  }

  private async subscriptions(): Promise<boolean | undefined> {
    const body = await this.get('/subscriptions');
    const [row] = (body?.['subscriptions'] ?? []) as Record<string, unknown>[];
    return row && row['deleted'] !== undefined;
  }

  private async listed(): Promise<boolean | undefined> {
    const body = await this.get('/episodes');
    return body && this.allOrNothing(Number(body['total']));
  }

  private async tables(): Promise<boolean | undefined> {
    const found = await this.owner
      .query<{ deleted: boolean; episodes: number; syncIds: number; status: string | null }>(
        snapshot,
        [this.user.id],
      )
      .then(({ rows }) => rows[0])
      .catch(() => undefined);
    if (!found) return undefined;
    const parts = [
      found.deleted,
      this.allOrNothing(found.episodes),
      found.syncIds === 0,
      found.status === 'SUCCESS',
    ];
    if (new Set(parts).size > 1) throw new Error(`half deleted: ${JSON.stringify(found)}`);
    return found.deleted;
  }

  private allOrNothing(episodes: number): boolean {
    if (episodes !== 0 && episodes !== this.episodes)
      throw new Error(`${episodes} of ${this.episodes} episodes`);
    return episodes === 0;
  }

  /** The body of an answer; none while the fault of the test prevents it. */
  private async get(path: string): Promise<Record<string, unknown> | undefined> {
    const answer = await this.user.device.send('GET', path).catch(() => undefined);
    return answer?.status === 200 ? answer.body : undefined;
  }
}
