import type { Api } from './api.js';
import { ApiError } from './errors.js';
import { readMeta } from './records.js';
import { pause } from './request-sender.js';
import type { Store } from './store.js';

/** Interval in milliseconds of polls. They find changes whose notification was lost. */
const pollInterval = 5 * 60_000;

/** Debounce of local changes in ms: the quiet time before a sync, and the maximum delay. */
const debounce = { quiet: 2_000, max: 15_000 };

/** Milliseconds for which a stream must have been open to reset the backoff. */
const stableStreamMs = 60_000;

/** Maximum of the random delay after a failure, in ms. It doubles from `first` up to `max`. */
const backoff = { first: 1_000, max: pollInterval };

interface LiveSyncOptions {
  api: Api;
  store: Store;
  sync: (signal: AbortSignal) => Promise<void>;
}

/**
 * Syncs a client after local changes, polls and notifications. Of the clients that share a store,
 * only one (the leader) polls and opens a stream.
 */
export class LiveSync {
  private runningSync: { controller: AbortController; ended: Promise<unknown> } | undefined;
  private sendTimer: ReturnType<typeof setTimeout> | undefined;
  /** `performance.now()` at the first local change that no sync has sent yet. */
  private unsentSince: number | undefined;
  /** Ends the current wait for the next sync. */
  private wakeUp: (() => void) | undefined;
  private readonly errorListeners = new Set<(error: unknown) => void>();

  constructor(private readonly options: LiveSyncOptions) {}

  /** Syncs until {@link stop}. A second call has no effect. */
  start(): void {
    if (this.runningSync) return;
    const controller = new AbortController();
    const { signal } = controller;
    const { store } = this.options;
    let leaderTasks: Promise<unknown> | undefined;
    const runAsLeader = async () => {
      if (signal.aborted) return;
      leaderTasks = Promise.all([this.#keepPolling(signal), this.#followStream(signal)]);
      await leaderTasks;
    };
    store.withLock('live', runAsLeader, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#reportError(error);
    });
    // Waits for the leader's tasks too. A client that never became the leader has none.
    const ended = this.#syncRepeatedly(signal).finally(() => leaderTasks);
    this.runningSync = { controller, ended };
  }

  /** Aborts the running sync and closes the stream. Resolves after both have ended. */
  async stop(): Promise<void> {
    const { runningSync: running } = this;
    this.runningSync = undefined;
    clearTimeout(this.sendTimer);
    this.unsentSince = undefined;
    running?.controller.abort();
    this.wakeUp?.();
    await running?.ended;
  }

  /** Schedules a sync after a local change. Has no effect before {@link start}. */
  scheduleSync(): void {
    if (!this.runningSync) return;
    const now = performance.now();
    this.unsentSince ??= now;
    clearTimeout(this.sendTimer);
    const startSend = () => {
      this.unsentSince = undefined;
      this.wakeUp?.();
    };
    const delay = Math.min(debounce.quiet, this.unsentSince + debounce.max - now);
    this.sendTimer = setTimeout(startSend, Math.max(0, delay));
  }

  /** Calls `listener` when a sync fails. @returns a function that removes the listener. */
  onError(listener: (error: unknown) => void): () => void {
    this.errorListeners.add(listener);
    return () => void this.errorListeners.delete(listener);
  }

  /** Syncs after each wake-up, and again after a failed sync. */
  async #syncRepeatedly(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      const nextWakeUp = new Promise<void>((resolve) => (this.wakeUp = resolve));
      try {
        await this.options.sync(signal);
        failures = 0;
        await nextWakeUp;
      } catch (error) {
        if (signal.aborted) return;
        this.#reportError(error);
        // Waits for `Retry-After`, then for a delay that grows with each failure. A poll, a
        // notification or a local change ends the delay.
        const retryAfterMs = error instanceof ApiError ? (error.retryAfter ?? 0) * 1_000 : 0;
        await pause(retryAfterMs, signal).catch(() => {});
        await Promise.race([nextWakeUp, pause(chooseDelay(failures++), signal).catch(() => {})]);
      }
    }
  }

  async #keepPolling(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(pollInterval * (0.9 + Math.random() * 0.2), signal).catch(() => {});
      this.wakeUp?.();
    }
  }

  /** Triggers a sync at each new stamp of the change stream. Ends if the server has no stream. */
  async #followStream(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      const openTime = performance.now();
      try {
        for await (const stamp of this.options.api.changes({ signal })) {
          if (signal.aborted) return;
          if (await this.#isNewStamp(stamp)) this.wakeUp?.();
        }
      } catch (error) {
        // The server has no change streams, or the platform cannot read them. Polls find changes.
        const { code, status } = error as Partial<ApiError>;
        if (code === 'not_found' || (code === 'unexpected' && status === undefined)) return;
      }
      // Waits before each reconnection. Without a delay, two devices above the limit of streams
      // would end each other's streams in a loop.
      if (performance.now() - openTime > stableStreamMs) failures = 0;
      await pause(chooseDelay(failures), signal).catch(() => {});
    }
  }

  /**
   * Returns true if the store lacks changes up to a stamp. Most stamps report this client's own
   * writes, which the store has.
   */
  async #isNewStamp(stamp: string): Promise<boolean> {
    const { subscriptions, episodes } = await readMeta(this.options.store);
    return !(subscriptions && episodes && stamp <= subscriptions && stamp <= episodes);
  }

  #reportError(error: unknown): void {
    for (const listener of this.errorListeners) listener(error);
  }
}

/** Returns a random delay in milliseconds. Its maximum doubles with each failure. */
function chooseDelay(failures: number): number {
  return Math.random() * Math.min(backoff.first * 2 ** failures, backoff.max);
}
