import type { Api } from './api.js';
import { ApiError } from './errors.js';
import { keys, type Meta } from './records.js';
import { pause } from './sending.js';
import type { Store } from './store.js';

/** Poll interval in milliseconds, because a notification can get lost. */
const pollEvery = 5 * 60_000;

/** Debounce of local changes in ms: the quiet time before a sync, and the longest delay. */
const soon = { quiet: 2_000, longest: 15_000 };

/** Age in milliseconds at which a stream resets the backoff. */
const lasting = 60_000;

/** Backoff for streams and syncs, in milliseconds: full jitter below a ceiling that doubles. */
const wait = { first: 1_000, most: pollEvery };

export interface LiveOptions {
  api: Api;
  store: Store;
  sync: (signal: AbortSignal) => Promise<void>;
}

/** Keeps a client in sync. Of all clients of a store, one polls and streams from the server. */
export class Live {
  private running: { abort: AbortController; ended: Promise<unknown> } | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Time of the first change that no sync has sent yet. */
  private changedAt: number | undefined;
  private poke: (() => void) | undefined;
  private readonly errorListeners = new Set<(error: unknown) => void>();

  constructor(private readonly options: LiveOptions) {}

  start(): void {
    if (this.running) return;
    const abort = new AbortController();
    const { signal } = abort;
    const { store } = this.options;
    let leading: Promise<unknown> | undefined;
    const lead = async () => {
      if (signal.aborted) return;
      leading = Promise.all([this.polling(signal), this.streaming(signal)]);
      await leading;
    };
    store.alone('live', lead).catch((error: unknown) => this.failed(error));
    // A client that never became the leader has no stream to end.
    const ended = this.syncing(signal).finally(() => leading);
    this.running = { abort, ended };
  }

  async stop(): Promise<void> {
    const { running } = this;
    this.running = undefined;
    clearTimeout(this.timer);
    this.changedAt = undefined;
    running?.abort.abort();
    this.poke?.();
    await running?.ended;
  }

  /** Schedules a sync after a local change. */
  soon(): void {
    if (!this.running) return;
    const now = performance.now();
    this.changedAt ??= now;
    clearTimeout(this.timer);
    const send = () => {
      this.changedAt = undefined;
      this.poke?.();
    };
    this.timer = setTimeout(
      send,
      Math.max(0, Math.min(soon.quiet, this.changedAt + soon.longest - now)),
    );
  }

  onError(listener: (error: unknown) => void): () => void {
    this.errorListeners.add(listener);
    return () => void this.errorListeners.delete(listener);
  }

  /** Syncs after each wake-up, and again after a failed sync. */
  private async syncing(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      const poked = new Promise<void>((resolve) => (this.poke = resolve));
      try {
        await this.options.sync(signal);
        failures = 0;
        await poked;
      } catch (error) {
        if (signal.aborted) return;
        this.failed(error);
        // The person has to sign in, or the network to return. A poll or a change ends the wait.
        const retryAfter = error instanceof ApiError ? (error.retryAfter ?? 0) * 1_000 : 0;
        await pause(retryAfter, signal).catch(() => {});
        await Promise.race([poked, pause(jitter(failures++), signal).catch(() => {})]);
      }
    }
  }

  private async polling(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(pollEvery * (0.9 + Math.random() * 0.2), signal).catch(() => {});
      this.poke?.();
    }
  }

  /** Reads the stream, which says only that there are changes. Polling works without it. */
  private async streaming(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      const opened = performance.now();
      try {
        for await (const stamp of this.options.api.changes({ signal })) {
          if (signal.aborted) return;
          if (await this.isNews(stamp)) this.poke?.();
        }
      } catch (error) {
        // Older servers have no stream, and some platforms cannot read one.
        const { code, status } = error as Partial<ApiError>;
        if (code === 'not_found' || (code === 'unexpected' && status === undefined)) return;
      }
      // Another device of the same person replaced the stream, or the server is stopping.
      if (performance.now() - opened > lasting) failures = 0;
      await pause(jitter(failures), signal).catch(() => {});
    }
  }

  /** Returns true if the store lacks the stamp. Most stamps follow this client's own writes. */
  private async isNews(stamp: string): Promise<boolean> {
    const meta = (await this.options.store.get(keys.meta)) as Meta | undefined;
    return !(
      meta?.subscriptions &&
      meta.episodes &&
      stamp <= meta.subscriptions &&
      stamp <= meta.episodes
    );
  }

  private failed(error: unknown): void {
    for (const listener of this.errorListeners) listener(error);
  }
}

function jitter(failures: number): number {
  return Math.random() * Math.min(wait.first * 2 ** failures, wait.most);
}
