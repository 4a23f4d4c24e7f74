import { chunkLimits, type DataEnd } from '#contracts';
import { ChunkSpool } from './chunk-spool.js';
import type { LoadedEpisode, LoadedSubscription } from './data-line.js';
import type { FileOffset } from './line-reader.js';

/** A line that was not applied. The `code` of an entry is that of the HTTP API. */
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
    /** Number of the line `user`, from 1. */
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

  /** Compares the part with the counts of its line `end`. Returns the difference, or undefined. */
  describeMissing(end: DataEnd | undefined): string | undefined {
    if (!end) return 'the last line of the part has no counts';
    const { subscriptions, episodes } = this.counts;
    const isTotalEqual =
      end.subscriptions + end.episodes === subscriptions + episodes + this.unusable;
    if (isTotalEqual && end.subscriptions >= subscriptions && end.episodes >= episodes)
      return undefined;
    const invalidNote = this.unusable ? ` and ${this.unusable} invalid lines` : '';
    return (
      `the last line of the part counts ${end.subscriptions} subscriptions and ` +
      `${end.episodes} episodes, but the part has ${subscriptions} and ${episodes}${invalidNote}`
    );
  }

  dispose(): void {
    this.subscriptions.dispose();
    this.episodes.dispose();
  }
}

/** A complete part, and the file offset after the part. */
export interface CompletePart {
  readonly part: UserPart;
  readonly next: FileOffset;
}
