import { chunkLimits, type DataEnd } from '#contracts';
import { ChunkSpool } from './chunk.spool.js';
import type { EpisodeEntry, SubscriptionEntry } from './data.line.js';
import type { FileOffset } from './line.reader.js';

/** A line that was not applied. `code` is stable; those of entries are those of the interface. */
export interface Refusal {
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

/** What one user's part of a file says, while it is read and then as a whole. */
export class UserPart {
  readonly subscriptions = new ChunkSpool<SubscriptionEntry>(chunkLimits);
  readonly episodes = new ChunkSpool<EpisodeEntry>(chunkLimits);
  readonly counts = { subscriptions: 0, episodes: 0 };
  /** Lines of it that can't be used, and may have been of either kind. */
  unusable = 0;

  constructor(
    /** `undefined` where the line does not say who it is: nothing is kept then. */
    readonly userId: string | undefined,
    /** The line that began it. */
    readonly line: number,
  ) {}

  addSubscription(entry: SubscriptionEntry, line: number, bytes: number): Promise<void> | undefined {
    this.counts.subscriptions += 1;
    return this.userId === undefined ? undefined : this.subscriptions.add(entry, line, bytes);
  }

  addEpisode(entry: EpisodeEntry, line: number, bytes: number): Promise<void> | undefined {
    this.counts.episodes += 1;
    return this.userId === undefined ? undefined : this.episodes.add(entry, line, bytes);
  }

  /** Why the part is not complete, by the counts of its last line; `undefined` where it is. */
  missing(end: DataEnd | undefined): string | undefined {
    if (!end) return 'the end of the part says no counts';
    const { subscriptions, episodes } = this.counts;
    const isAll = end.subscriptions + end.episodes === subscriptions + episodes + this.unusable;
    if (isAll && end.subscriptions >= subscriptions && end.episodes >= episodes) return undefined;
    const found = `${subscriptions} and ${episodes}${this.unusable ? `, and ${this.unusable} that can't be used` : ''}`;
    return `the end of the part says ${end.subscriptions} subscriptions and ${end.episodes} episodes, there are ${found}`;
  }

  dispose(): void {
    this.subscriptions.dispose();
    this.episodes.dispose();
  }
}

/** A complete part, and where the file goes on behind it. */
export interface CompletePart {
  readonly part: UserPart;
  readonly next: FileOffset;
}
