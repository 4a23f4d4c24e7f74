import type { Statement } from '#database';
import type pg from 'pg';
import { episodeLine, furtherLine, namesInLine, subscriptionLines, urlLines } from './dump.lines.js';
import * as store from './dump.store.js';
import type { DumpedUser } from './dumped.users.js';

/** Rows that are read at once; two pages are in memory at most. */
const pageRows = 1_000;
/** Former URLs that are read at once. */
export const pageUrls = 500;

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
    const episodesAfter = (after: string) =>
      this.rows<store.EpisodeRow>(store.episodes, [id, after, pageRows, namesInLine]);
    // All at once: of most users there is no more than that.
    const [, [known], subscriptions, episodes] = await Promise.all([
      this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
      this.rows<{ clock: Date; erased: boolean }>(store.user, [id]),
      subscriptionsAfter('0'),
      episodesAfter('0'),
    ]);
    if (known?.erased) {
      counts.erased += 1;
      await this.client.query('COMMIT');
      return;
    }
    yield `${JSON.stringify({ user: { ...name, ...(known && { clock: known.clock }) } })}\n`;
    for await (const page of pages(subscriptions, subscriptionsAfter)) {
      counts.pending += page.filter(({ pending }) => pending).length;
      yield* this.subscriptionsOf(id, page);
    }
    for await (const page of pages(episodes, episodesAfter)) {
      counts.episodes += page.length;
      yield page.map(episodeLine).join('');
      for (const row of page) if (row.further?.length === namesInLine) yield* this.furtherLines(id, row, row.further);
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

  /** The lines of a page of subscriptions, and then lines for former URLs that are too many to be read with them. */
  private async *subscriptionsOf(id: string, page: readonly store.SubscriptionRow[]): AsyncGenerator<string> {
    const moved = page.flatMap((row) => (row.has_former_urls ? [row.id] : []));
    const urlsAfter = ({ id: row, key }: Pick<store.FormerUrlRow, 'id' | 'key'>) =>
      this.rows<store.FormerUrlRow>(store.formerUrls, [id, moved, row, key, pageUrls]);
    let urls = moved.length === 0 ? [] : await urlsAfter({ id: '0', key: '' });
    for (let linesOf = subscriptionLines; ; linesOf = urlLines) {
      const urlsOf = (row: store.SubscriptionRow) => urls.flatMap((one) => (one.id === row.id ? [one.url] : []));
      const rows = linesOf === urlLines ? page.filter((row) => row.has_former_urls && urlsOf(row).length > 0) : page;
      const lines = rows.flatMap((row) => linesOf(row, row.has_former_urls ? urlsOf(row) : []));
      this.counts.subscriptions += lines.length;
      yield lines.join('');
      if (urls.length < pageUrls) return;
      urls = await urlsAfter(urls.at(-1) as store.FormerUrlRow);
    }
  }

  /** Lines with the sync_ids that the line of an episode has no room for. */
  private async *furtherLines(id: string, row: store.EpisodeRow, first: readonly string[]): AsyncGenerator<string> {
    for (let last = first; last.length === namesInLine;) {
      const values = [id, row.id, last.at(-1), namesInLine];
      const more = await this.rows<{ syncId: string }>(store.furtherSyncIds, values);
      last = more.map(({ syncId }) => syncId);
      if (last.length === 0) return;
      this.counts.episodes += 1;
      yield furtherLine(row, last);
    }
  }

  private async rows<Row extends object>({ name, text }: Statement, values: readonly unknown[]): Promise<Row[]> {
    return (await this.client.query<Row>({ name, text, values: [...values] })).rows;
  }
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
