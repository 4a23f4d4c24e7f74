import type { Api } from './api.js';
import { ApiError } from './errors.js';
import { keys, type Meta } from './records.js';
import { pause } from './sending.js';
import type { Store } from './store.js';

/** A hint may be lost: so often everything is asked for anyway. In milliseconds. */
const pollEvery = 5 * 60_000;

/** Changes that follow each other so soon are sent together, but none waits longer than the latter. In milliseconds. */
const soon = { quiet: 2_000, longest: 15_000 };

/** A stream that lasts so long is well, in milliseconds. */
const lasting = 60_000;

/** Waits before a stream or a sync is tried again, in milliseconds: full jitter below a ceiling that doubles. */
const wait = { first: 1_000, most: pollEvery };

export interface LiveOptions {
  api: Api;
  store: Store;
  sync: (signal: AbortSignal) => Promise<void>;
}

/** Keeps a client in sync: for all who share a store only one listens to the server. */
export class Live {
  private running: { abort: AbortController; ended: Promise<unknown> } | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** When the first change was made that is not sent yet. */
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
    // Who never got its turn has nothing to end.
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

  /** Syncs soon, as something has changed here. */
  soon(): void {
    if (!this.running) return;
    const now = performance.now();
    this.changedAt ??= now;
    clearTimeout(this.timer);
    const send = () => {
      this.changedAt = undefined;
      this.poke?.();
    };
    this.timer = setTimeout(send, Math.max(0, Math.min(soon.quiet, this.changedAt + soon.longest - now)));
  }

  onError(listener: (error: unknown) => void): () => void {
    this.errorListeners.add(listener);
    return () => void this.errorListeners.delete(listener);
  }

  /** Syncs whenever it is poked, and again after one that failed. */
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
        // A person has to sign in, or the network to come back: whichever happens first, polling or a change tells.
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

  /** A stream says only that there is something to read. Without one polling is all there is. */
  private async streaming(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      const opened = performance.now();
      try {
        for await (const stamp of this.options.api.changes({ signal })) {
          if (signal.aborted) return;
          if (await this.isNews(stamp)) this.poke?.();
        }
      } catch (error) {
        // An older server has none, and not every platform can read one.
        const { code, status } = error as Partial<ApiError>;
        if (code === 'not_found' || (code === 'unexpected' && status === undefined)) return;
      }
      // One that ends soon was taken by another device of the same person, or by a server that stops.
      if (performance.now() - opened > lasting) failures = 0;
      await pause(jitter(failures), signal).catch(() => {});
    }
  }

  /** Most often what comes is what was just written from here. */
  private async isNews(stamp: string): Promise<boolean> {
    const meta = (await this.options.store.get(keys.meta)) as Meta | undefined;
    return !(meta?.subscriptions && meta.episodes && stamp <= meta.subscriptions && stamp <= meta.episodes);
  }

  private failed(error: unknown): void {
    for (const listener of this.errorListeners) listener(error);
  }
}

function jitter(failures: number): number {
  return Math.random() * Math.min(wait.first * 2 ** failures, wait.most);
}
