import { createHash } from 'node:crypto';
import { maxActions } from '#contracts';
import { z } from 'zod';
import type { AccountWriter } from './account-writer.js';
import type { Actions, SourceServer } from './source-server.js';

/** Progress of an import: which response of the other server is imported, and how much of it. */
export const importProgressSchema = z.object({
  /** `since` of the request for that response: a timestamp of the other server. */
  since: z.int().min(0),
  /** Number of actions of the response that are imported. */
  actions: z.int().min(0),
  /** SHA-256 of these actions, to detect that the response has changed. */
  hash: z.string(),
});
export type ImportProgress = z.output<typeof importProgressSchema>;

/** Progress of an import that has imported no action. */
export const noProgress: ImportProgress = { since: 0, actions: 0, hash: '' };

/** Stores the progress of an import, so that a later run can continue. */
export interface ProgressStore {
  current: ImportProgress;
  update(progress: ImportProgress): Promise<void>;
}

/** A response whose actions are imported; `timestamp` is the `since` of the next request. */
type ImportedResponse = ImportProgress & { timestamp: number };

/**
 * Imports an account of another server. To continue an interrupted import, a run writes only the
 * remaining actions. It writes all subscriptions and favourites again, without effect.
 */
export class AccountImport {
  constructor(
    private readonly source: SourceServer,
    private readonly writer: AccountWriter,
    private readonly store: ProgressStore,
    private readonly stopSignal: AbortSignal,
  ) {}

  /** Runs the import. @throws ServerError; Failure of a service; the reason of `stopSignal`. */
  async run(): Promise<void> {
    await this.writer.writeFeeds(await this.source.readFeeds());
    // Requests again, because some servers split the actions over several responses. Each response
    // has the timestamp for the next request.
    for (let lastHash = ''; ;) {
      const { since } = this.store.current;
      const { timestamp, actions, hash } = await this.importResponse();
      // Also stops at a repeated response, because such a server ignores the timestamp.
      if (actions === 0 || timestamp <= since || hash === lastHash) break;
      lastHash = hash;
      await this.store.update({ since: timestamp, actions: 0, hash: '' });
    }
    await this.writer.writeFavorites(await this.source.readFavorites());
  }

  /** Requests a response and imports its remaining actions. */
  private async importResponse(): Promise<ImportedResponse> {
    const { since } = this.store.current;
    const imported = await this.source.readActions(since, (response) =>
      this.importRemaining(response),
    );
    if (imported) return imported;
    // Imports the response from its start, because its first actions have changed.
    this.store.current = { ...this.store.current, actions: 0, hash: '' };
    return this.importResponse();
  }

  /**
   * Imports the remaining actions of a response. Returns undefined if the response does not start
   * with the actions that are already imported.
   */
  private async importRemaining(response: Actions): Promise<ImportedResponse | undefined> {
    const { since, actions: importedCount, hash: importedHash } = this.store.current;
    const hasher = createHash('sha256');
    let [actions, batch]: [number, string[]] = [0, []];
    const writeBatch = async () => {
      await this.writer.writeActions(batch.splice(0));
      await this.store.update({ since, actions, hash: hasher.copy().digest('hex') });
    };
    for (;;) {
      const { value, done } = await response.next();
      if (done) {
        if (actions < importedCount) return undefined;
        if (batch.length > 0) await writeBatch();
        return { timestamp: value, since, actions, hash: hasher.digest('hex') };
      }
      this.stopSignal.throwIfAborted();
      hasher.update(value).update('\n');
      actions += 1;
      if (actions > importedCount) batch.push(value);
      if (batch.length === maxActions) await writeBatch();
      if (actions === importedCount && hasher.copy().digest('hex') !== importedHash)
        return undefined;
    }
  }
}
