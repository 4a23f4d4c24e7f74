import { chunkLimits, type DataEnd, type SubscriptionLoadEntry } from '#contracts';
import { type Chunk, ChunkSpool } from './chunk.spool.js';
import type { EpisodeLoadEntry } from './data.line.js';
import type { Position } from './line.reader.js';

/** A line that was not applied. `code` is stable; those of entries are those of the interface. */
export interface Refusal {
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

/** What one user's part of a file says, while it is read and then as a whole. */
export class UserPart {
  private readonly spools = {
    subscriptions: new ChunkSpool<SubscriptionLoadEntry>(chunkLimits),
    /** Pointers need their survivors, so they come after all others where these are several chunks. */
    pointers: new ChunkSpool<SubscriptionLoadEntry>(chunkLimits),
    episodes: new ChunkSpool<EpisodeLoadEntry>(chunkLimits),
  };
  readonly counts = { subscriptions: 0, episodes: 0 };
  /** Lines of it that can't be used, and may have been of either kind. */
  unusable = 0;
  private pointers = 0;

  constructor(
    /** `undefined` where the line does not say who it is: nothing is kept then. */
    readonly userId: string | undefined,
    /** The line that began it. */
    readonly line: number,
    /** How far the user's clock was where it comes from. */
    readonly clock?: string,
  ) {}

  subscription(entry: SubscriptionLoadEntry, line: number, bytes: number): Promise<void> | undefined {
    this.counts.subscriptions += 1;
    if (this.userId === undefined) return undefined;
    if (entry.mergedInto === undefined) return this.spools.subscriptions.add(entry, line, bytes);
    this.pointers += 1;
    return this.spools.pointers.add(entry, line, bytes);
  }

  episode(entry: EpisodeLoadEntry, line: number, bytes: number): Promise<void> | undefined {
    this.counts.episodes += 1;
    return this.userId === undefined ? undefined : this.spools.episodes.add(entry, line, bytes);
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

  /** Its subscriptions, to be sent before its episodes. */
  async *subscriptions(): AsyncGenerator<Chunk<SubscriptionLoadEntry>> {
    const { subscriptions, pointers } = this.spools;
    const isSmall = this.counts.subscriptions <= chunkLimits.entries && subscriptions.isOneChunk && pointers.isOneChunk;
    if (this.pointers === 0 || !isSmall) {
      yield* subscriptions.chunks();
      yield* pointers.chunks();
      return;
    }
    // In the order of lines, which is that of lists.
    const all: [number, SubscriptionLoadEntry][] = [];
    for (const spool of [subscriptions, pointers])
      for await (const { entries, lines } of spool.chunks())
        all.push(...entries.map((entry, index): [number, SubscriptionLoadEntry] => [lines[index] as number, entry]));
    all.sort(([a], [b]) => a - b);
    yield { entries: all.map(([, entry]) => entry), lines: all.map(([line]) => line) };
  }

  episodes(): AsyncGenerator<Chunk<EpisodeLoadEntry>> {
    return this.spools.episodes.chunks();
  }

  dispose(): void {
    for (const spool of Object.values(this.spools)) spool.dispose();
  }
}

/** A complete part, and where the file goes on behind it. */
export interface CompletePart {
  readonly part: UserPart;
  readonly next: Position;
}
