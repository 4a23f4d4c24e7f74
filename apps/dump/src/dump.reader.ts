import type { DataSubscription } from '#contracts';
import type { Statement } from '#database';
import type pg from 'pg';
import * as store from './dump.store.js';
import type { DumpedUser } from './dumped.users.js';

/** Rows that are read at once; two pages are in memory at most. */
const pageRows = 1_000;

/** What has been written so far. */
export interface DumpCounts {
  users: number;
  subscriptions: number;
  episodes: number;
  /** Users of whom there is nothing. */
  unknown: number;
  /** Users who are being erased, or have been: nothing is written of them. */
  erased: number;
  /** Deletions that were asked for and not carried out yet: what they are to delete is in the file. */
  pending: number;
}

/** Reads what users have, each as of one moment, page by page. */
export class DumpReader {
  readonly counts: DumpCounts = { users: 0, subscriptions: 0, episodes: 0, unknown: 0, erased: 0, pending: 0 };

  /** @param client a connection of its own, in UTC, that sends statements without waiting for earlier answers. */
  constructor(private readonly client: pg.Client) {}

  /** The lines of a user's part, a page at a time. */
  async *partOf({ id, name }: DumpedUser): AsyncGenerator<string> {
    const { counts } = this;
    const before = { ...counts };
    const subscriptionsAfter = (after: string) =>
      this.rows<store.SubscriptionRow>(store.subscriptions, [id, after, pageRows]);
    const episodesAfter = (after: string) => this.rows<store.EpisodeRow>(store.episodes, [id, after, pageRows]);
    // All at once: of most users there is no more than that.
    const [, [known], subscriptions, episodes] = await Promise.all([
      this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
      this.rows<{ erased: boolean }>(store.user, [id]),
      subscriptionsAfter('0'),
      episodesAfter('0'),
    ]);
    if (known?.erased) {
      counts.erased += 1;
      await this.client.query('COMMIT');
      return;
    }
    yield `${JSON.stringify({ user: name })}\n`;
    for await (const page of pages(subscriptions, subscriptionsAfter)) {
      counts.pending += page.filter(({ pending }) => pending).length;
      counts.subscriptions += page.length;
      yield page.map(subscriptionLine).join('');
    }
    for await (const page of pages(episodes, episodesAfter)) {
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

  private async rows<Row extends object>({ name, text }: Statement, values: readonly unknown[]): Promise<Row[]> {
    return (await this.client.query<Row>({ name, text, values: [...values] })).rows;
  }
}

function subscriptionLine({ feed_url, guid, is_subscribed, timestamp }: store.SubscriptionRow): string {
  const subscription: DataSubscription = { feed_url, guid, is_subscribed, ...(timestamp !== null && { timestamp }) };
  return `${JSON.stringify({ subscription })}\n`;
}

/** All pages of something, of which the next is asked for before one is used. */
async function* pages<Row extends { id: string }>(first: Row[], after: (id: string) => Promise<Row[]>) {
  for (let page = first; page.length > 0;) {
    const next = page.length < pageRows ? [] : after((page.at(-1) as Row).id);
    // Where it fails, it does so when it is waited for.
    Promise.resolve(next).catch(() => undefined);
    yield page;
    page = await next;
  }
}
