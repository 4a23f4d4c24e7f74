import { Controller } from '@nestjs/common';
import { describeEpisodes, type RequestOf } from '#contracts';
import { Database } from '#database';
import { type CallContext, Handle } from '#transport';
import { episodesOfFeed, selectUntitled } from './describe.repository.js';
import { describeRows } from './describe.rules.js';
import { saveChanges, toEpisodeRow } from './episode.repository.js';

/**
 * Handles the message that fills in missing titles of stored episodes from their feed. Invariants:
 * - Only unknown values change. Each changed row gets a new stamp, so that clients receive it.
 * - Without a change nothing is written, and no notification is sent.
 */
@Controller()
export class DescribeService {
  constructor(private readonly database: Database) {}

  /**
   * Fills in the titles of a user's newest untitled episodes of one feed, up to 1,000 episodes.
   *
   * @returns the number of changed episodes.
   */
  @Handle(describeEpisodes)
  async describe({ userId, feedUrl }: RequestOf<typeof describeEpisodes>, context: CallContext) {
    const feedItems = await episodesOfFeed(this.database, feedUrl);
    if (feedItems.length === 0) return { described: 0 };
    const write = {
      ...context.write,
      userId,
      smallAnswer: false,
      advances: false,
      changes: ['episodes'] as const,
      reads: selectUntitled(userId, feedUrl),
    };
    return this.database.write(write, async (transaction) => {
      const untitled = (transaction.found[0]?.episodes ?? []).map(toEpisodeRow);
      const described = describeRows(untitled, feedItems);
      if (described.length === 0 || transaction.repeated) return { described: 0 };
      const changed = await transaction.advance();
      const rows = described.map((row) => ({ ...row, changed }));
      const changedIds = new Set(rows.map(({ id }) => id));
      await saveChanges(transaction, userId, {
        rows,
        inserted: new Set(),
        changedMetadata: changedIds,
        changedStates: changedIds,
        renamed: [],
        aliases: [],
        addedAliases: 0,
        absorbed: [],
        removed: 0,
      });
      return { described: rows.length };
    });
  }
}
