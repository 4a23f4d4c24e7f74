import { createHash } from 'node:crypto';
import { maxActions } from '#contracts';
import { z } from 'zod';
import type { AccountWriter } from './account.writer.js';
import type { Actions, SourceServer } from './source.server.js';

/** Progress of an import: the answer that is being written, and its written actions. */
export const cursorSchema = z.object({
  /** The `since` of the request for the answer, a timestamp of the other server. */
  since: z.int().min(0),
  /** Number and SHA-256 of the answer's written actions. The hash detects a changed answer. */
  actions: z.int().min(0),
  hash: z.string(),
});
export type ImportCursor = z.output<typeof cursorSchema>;

/** Cursor of an import that has written no action. */
export const startCursor: ImportCursor = { since: 0, actions: 0, hash: '' };

/** Keeps the cursor of an import, so that a later run continues. */
export interface CursorStore {
  cursor: ImportCursor;
  moveTo(cursor: ImportCursor): Promise<void>;
}

type WrittenAnswer = ImportCursor & { timestamp: number };

/**
 * Imports an account of another server. A run that continues an interrupted import writes all
 * subscriptions and favourites again, but only the remaining actions. A repetition has no effect.
 */
export class AccountImport {
  constructor(
    private readonly source: SourceServer,
    private readonly writer: AccountWriter,
    private readonly store: CursorStore,
    private readonly stopped: AbortSignal,
  ) {}

  /** @throws ServerError; Failure of a service; the reason of a stop. */
  async run(): Promise<void> {
    await this.writer.writeFeeds(await this.source.readFeeds());
    // Some servers answer in parts, each with the timestamp for the next request.
    for (let lastHash = ''; ;) {
      const { since } = this.store.cursor;
      const { timestamp, actions, hash } = await this.writeAnswer();
      // A server that repeats its answer ignores the timestamp.
      if (actions === 0 || timestamp <= since || hash === lastHash) break;
      lastHash = hash;
      await this.store.moveTo({ since: timestamp, actions: 0, hash: '' });
    }
    await this.writer.writeFavorites(await this.source.readFavorites());
  }

  /** Writes the new actions of one answer. Returns its timestamp and its cursor. */
  private async writeAnswer(): Promise<WrittenAnswer> {
    const { since } = this.store.cursor;
    const written = await this.source.readActions(since, (answer) => this.writeNew(answer));
    if (written) return written;
    // Written actions or their order have changed, so the answer is written from its start.
    this.store.cursor = { ...this.store.cursor, actions: 0, hash: '' };
    return this.writeAnswer();
  }

  /** Returns undefined if the answer does not start with the written actions. */
  private async writeNew(answer: Actions): Promise<WrittenAnswer | undefined> {
    const { since, actions: written, hash: writtenHash } = this.store.cursor;
    const hash = createHash('sha256');
    let [actions, batch]: [number, string[]] = [0, []];
    const write = async () => {
      await this.writer.writeActions(batch.splice(0));
      await this.store.moveTo({ since, actions, hash: hash.copy().digest('hex') });
    };
    for (;;) {
      const { value, done } = await answer.next();
      if (done) {
        if (actions < written) return undefined;
        if (batch.length > 0) await write();
        return { timestamp: value, since, actions, hash: hash.digest('hex') };
      }
      this.stopped.throwIfAborted();
      hash.update(value).update('\n');
      actions += 1;
      if (actions > written) batch.push(value);
      if (batch.length === maxActions) await write();
      if (actions === written && hash.copy().digest('hex') !== writtenHash) return undefined;
    }
  }
}
