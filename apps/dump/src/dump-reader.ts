import type { DataSubscription } from '#contracts';
import type { Statement } from '#database';
import type { NamedUser } from '#identity';
import type pg from 'pg';
import * as store from './dump.repository.js';

/** At most three pages of rows are in memory. */
const rowsPerPage = 1_000;

/** Counts of written users and lines, and of exceptions for the summary. */
export interface DumpCounts {
  users: number;
  subscriptions: number;
  episodes: number;
  /** Users without a clock, who never wrote. The dump has them without data. */
  unknown: number;
  /** Users who are erased or being erased. The dump leaves them out. */
  erased: number;
  /** Subscriptions whose deletion is pending. The dump still contains their data. */
  pending: number;
}

/** Reads users' data in pages, each user from one snapshot. */
export class DumpReader {
  readonly counts: DumpCounts = {
    users: 0,
    subscriptions: 0,
    episodes: 0,
    unknown: 0,
    erased: 0,
    pending: 0,
  };

  /** @param client an exclusive connection in UTC with pipelining. */
  constructor(private readonly client: pg.Client) {}

  /** Yields the lines of one user. Yields none for a user who is erased or being erased. */
  async *partOf({ id, name }: NamedUser): AsyncGenerator<string> {
    const { counts } = this;
    const countsBefore = { ...counts };
    const readSubscriptionsAfter = (lastId: string) =>
      this.queryRows<store.DumpedSubscription>(store.selectSubscriptions, [
        id,
        lastId,
        rowsPerPage,
      ]);
    const readEpisodesAfter = (lastId: string) =>
      this.queryRows<store.DumpedEpisode>(store.selectEpisodes, [id, lastId, rowsPerPage]);
    // Requests both first pages in one pipeline, because most users have no further pages.
    const [, [clock], subscriptions, episodes] = await Promise.all([
      this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
      this.queryRows<{ erased: boolean }>(store.selectRefusal, [id]),
      readSubscriptionsAfter('0'),
      readEpisodesAfter('0'),
    ]);
    if (clock?.erased) {
      counts.erased += 1;
      await this.client.query('COMMIT');
      return;
    }
    yield `${JSON.stringify({ user: name })}\n`;
    for await (const page of readPages(subscriptions, readSubscriptionsAfter)) {
      counts.pending += page.filter(({ pending }) => pending).length;
      counts.subscriptions += page.length;
      yield page.map(serializeSubscription).join('');
    }
    for await (const page of readPages(episodes, readEpisodesAfter)) {
      counts.episodes += page.length;
      yield page.map(({ line }) => `${line}\n`).join('');
    }
    await this.client.query('COMMIT');
    counts.users += 1;
    if (!clock) counts.unknown += 1;
    const lineCounts = {
      subscriptions: counts.subscriptions - countsBefore.subscriptions,
      episodes: counts.episodes - countsBefore.episodes,
    };
    yield `${JSON.stringify({ end: lineCounts })}\n`;
  }

  private async queryRows<Row extends object>(
    { name, text }: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    return (await this.client.query<Row>({ name, text, values: [...values] })).rows;
  }
}

function serializeSubscription({
  feed_url,
  guid,
  is_subscribed,
  timestamp,
  title,
}: store.DumpedSubscription): string {
  const subscription: DataSubscription = {
    feed_url,
    guid,
    is_subscribed,
    ...(timestamp !== null && { timestamp }),
    ...(title !== null && { title }),
  };
  return `${JSON.stringify({ subscription })}\n`;
}

/** Yields all pages. Requests the next page before it yields the current one. */
async function* readPages<Row extends { id: string }>(
  firstPage: Row[],
  readPageAfter: (lastId: string) => Promise<Row[]>,
) {
  for (let page = firstPage; page.length > 0;) {
    const nextPage = page.length < rowsPerPage ? [] : readPageAfter((page.at(-1) as Row).id);
    // Prevents an unhandled rejection. The `await` below throws the error.
    Promise.resolve(nextPage).catch(() => undefined);
    yield page;
    page = await nextPage;
  }
}
