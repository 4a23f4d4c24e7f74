import { chunkLimits, type DataEnd } from '#contracts';
import { ChunkSpool } from './chunk-spool.js';
import type { LoadedEpisode, LoadedSubscription } from './data-line.js';
import type { FileOffset } from './line-reader.js';

/** A line that was not applied. `code` is stable; for an entry it is the code of the HTTP API. */
export interface RejectedLine {
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

/** One user's part of a file: the lines from `user` to `end`. */
export class UserPart {
  readonly subscriptions = new ChunkSpool<LoadedSubscription>(chunkLimits);
  readonly episodes = new ChunkSpool<LoadedEpisode>(chunkLimits);
  readonly counts = { subscriptions: 0, episodes: 0 };
  /** Number of invalid lines, each of which can be a subscription or an episode. */
  unusable = 0;

  constructor(
    /** `undefined` if the line `user` is invalid: the part is then not applied. */
    readonly userId: string | undefined,
    readonly line: number,
  ) {}

  addSubscription(entry: LoadedSubscription, line: number, bytes: number): void {
    this.counts.subscriptions += 1;
    if (this.userId !== undefined) this.subscriptions.add(entry, line, bytes);
  }

  addEpisode(entry: LoadedEpisode, line: number, bytes: number): void {
    this.counts.episodes += 1;
    if (this.userId !== undefined) this.episodes.add(entry, line, bytes);
  }

  /** Returns why the part lacks lines that its last line counts; `undefined` if it is complete. */
  describeMissing(end: DataEnd | undefined): string | undefined {
    if (!end) return 'the last line of the part has no counts';
    const { subscriptions, episodes } = this.counts;
    const isAll = end.subscriptions + end.episodes === subscriptions + episodes + this.unusable;
    if (isAll && end.subscriptions >= subscriptions && end.episodes >= episodes) return undefined;
    const invalid = this.unusable ? ` and ${this.unusable} invalid lines` : '';
    return (
      `the last line of the part counts ${end.subscriptions} subscriptions and ` +
      `${end.episodes} episodes, but the part has ${subscriptions} and ${episodes}${invalid}`
    );
  }

  dispose(): void {
    this.subscriptions.dispose();
    this.episodes.dispose();
  }
}

/** A complete part, and the offset after it. */
export interface CompletePart {
  readonly part: UserPart;
  readonly next: FileOffset;
}
