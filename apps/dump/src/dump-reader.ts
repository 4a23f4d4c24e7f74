import type { DataSubscription } from '#contracts';
import type { Statement } from '#database';
import type { NamedUser } from '#identity';
import type pg from 'pg';
import * as store from './dump.repository.js';

/** Rows per page. At most two pages are in memory. */
const pageRows = 1_000;

/** Counts of written lines, and of special users. */
export interface DumpCounts {
  users: number;
  subscriptions: number;
  episodes: number;
  /** Named users who never wrote anything. Their parts are empty. */
  unknown: number;
  /** Users who were erased or are being erased. They are left out. */
  erased: number;
  /** Pending deletions. The file still contains the rows that they will delete. */
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

  /** Yields the lines of a user's part; no line for a user who is erased or being erased. */
  async *partOf({ id, name }: NamedUser): AsyncGenerator<string> {
    const { counts } = this;
    const before = { ...counts };
    const subscriptionsAfter = (after: string) =>
      this.rows<store.DumpedSubscription>(store.selectSubscriptions, [id, after, pageRows]);
    const episodesAfter = (after: string) =>
      this.rows<store.DumpedEpisode>(store.selectEpisodes, [id, after, pageRows]);
    // Requests both first pages in one pipeline, because most users have no further pages.
    const [, [known], subscriptions, episodes] = await Promise.all([
      this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
      this.rows<{ erased: boolean }>(store.selectRefusal, [id]),
      subscriptionsAfter('0'),
      episodesAfter('0'),
    ]);
    if (known?.erased) {
      counts.erased += 1;
      await this.client.query('COMMIT');
      return;
    }
    yield `${JSON.stringify({ user: name })}\n`;
    for await (const page of readPages(subscriptions, subscriptionsAfter)) {
      counts.pending += page.filter(({ pending }) => pending).length;
      counts.subscriptions += page.length;
      yield page.map(subscriptionLine).join('');
    }
    for await (const page of readPages(episodes, episodesAfter)) {
      counts.episodes += page.length;
      yield page.map(({ line }) => `${line}\n`).join('');
    }
    await this.client.query('COMMIT');
    counts.users += 1;
    if (!known) counts.unknown += 1;
    const written = {
      subscriptions: counts.subscriptions - before.subscriptions,
      episodes: counts.episodes - before.episodes,
    };
    yield `${JSON.stringify({ end: written })}\n`;
  }

  private async rows<Row extends object>(
    { name, text }: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    return (await this.client.query<Row>({ name, text, values: [...values] })).rows;
  }
}

function subscriptionLine({
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
  first: Row[],
  after: (id: string) => Promise<Row[]>,
) {
  for (let page = first; page.length > 0;) {
    const next = page.length < pageRows ? [] : after((page.at(-1) as Row).id);
    // An error is thrown by the `await` below.
    Promise.resolve(next).catch(() => undefined);
    yield page;
    page = await next;
  }
}
