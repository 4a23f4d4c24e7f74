import type { Api } from './api.js';
import { ApiError } from './errors.js';
import { readMeta } from './records.js';
import { pause } from './request-sender.js';
import type { Store } from './store.js';

/** Interval in milliseconds of polls, which find changes whose notification was lost. */
const pollInterval = 5 * 60_000;

/** Debounce of local changes in ms: the quiet time before a sync, and the maximum delay. */
const debounce = { quiet: 2_000, max: 15_000 };

/** Milliseconds for which a stream must have been open to reset the backoff. */
const stableStreamMs = 60_000;

/** Backoff for streams and syncs, in milliseconds: full jitter below a ceiling that doubles. */
const backoff = { first: 1_000, max: pollInterval };

interface LiveSyncOptions {
  api: Api;
  store: Store;
  sync: (signal: AbortSignal) => Promise<void>;
}

/**
 * Syncs a client after local changes, polls and notifications. Only one of the clients that share
 * a store polls and opens a stream.
 */
export class LiveSync {
  private runningSync: { abort: AbortController; ended: Promise<unknown> } | undefined;
  private sendTimer: ReturnType<typeof setTimeout> | undefined;
  /** Device time of the first local change that no sync has sent yet. */
  private unsentSince: number | undefined;
  /** Ends the current wait for the next sync. */
  private wakeUp: (() => void) | undefined;
  private readonly errorListeners = new Set<(error: unknown) => void>();

  constructor(private readonly options: LiveSyncOptions) {}

  /** Syncs until {@link stop}. A second call has no effect. */
  start(): void {
    if (this.runningSync) return;
    const abort = new AbortController();
    const { signal } = abort;
    const { store } = this.options;
    let leading: Promise<unknown> | undefined;
    const lead = async () => {
      if (signal.aborted) return;
      leading = Promise.all([this.#keepPolling(signal), this.#followStream(signal)]);
      await leading;
    };
    store.withLock('live', lead, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#reportError(error);
    });
    // A client that never became the leader has no stream to end.
    const ended = this.#syncRepeatedly(signal).finally(() => leading);
    this.runningSync = { abort, ended };
  }

  /** Aborts the running sync and closes the stream. Resolves after both have ended. */
  async stop(): Promise<void> {
    const { runningSync: running } = this;
    this.runningSync = undefined;
    clearTimeout(this.sendTimer);
    this.unsentSince = undefined;
    running?.abort.abort();
    this.wakeUp?.();
    await running?.ended;
  }

  /** Schedules a sync after a local change. */
  scheduleSync(): void {
    if (!this.runningSync) return;
    const now = performance.now();
    this.unsentSince ??= now;
    clearTimeout(this.sendTimer);
    const send = () => {
      this.unsentSince = undefined;
      this.wakeUp?.();
    };
    const delay = Math.min(debounce.quiet, this.unsentSince + debounce.max - now);
    this.sendTimer = setTimeout(send, Math.max(0, delay));
  }

  /** Calls back when a sync fails. @returns a function that removes the listener. */
  onError(listener: (error: unknown) => void): () => void {
    this.errorListeners.add(listener);
    return () => void this.errorListeners.delete(listener);
  }

  /** Syncs after each wake-up, and again after a failed sync. */
  async #syncRepeatedly(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      const wokenUp = new Promise<void>((resolve) => (this.wakeUp = resolve));
      try {
        await this.options.sync(signal);
        failures = 0;
        await wokenUp;
      } catch (error) {
        if (signal.aborted) return;
        this.#reportError(error);
        // Waits longer after each failure, such as a missing network or sign-in. A poll or a change
        // ends the wait.
        const retryAfter = error instanceof ApiError ? (error.retryAfter ?? 0) * 1_000 : 0;
        await pause(retryAfter, signal).catch(() => {});
        await Promise.race([wokenUp, pause(randomDelay(failures++), signal).catch(() => {})]);
      }
    }
  }

  async #keepPolling(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(pollInterval * (0.9 + Math.random() * 0.2), signal).catch(() => {});
      this.wakeUp?.();
    }
  }

  /** Wakes up at each event of the change stream. Without a stream, polls find the changes. */
  async #followStream(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      const opened = performance.now();
      try {
        for await (const stamp of this.options.api.changes({ signal })) {
          if (signal.aborted) return;
          if (await this.#isNewStamp(stamp)) this.wakeUp?.();
        }
      } catch (error) {
        // Relies on polls where the server has no stream, or the platform cannot read one.
        const { code, status } = error as Partial<ApiError>;
        if (code === 'not_found' || (code === 'unexpected' && status === undefined)) return;
      }
      // Waits before each reconnection, so that clients do not reconnect in a loop: two devices
      // above the limit of streams would end each other's streams.
      if (performance.now() - opened > stableStreamMs) failures = 0;
      await pause(randomDelay(failures), signal).catch(() => {});
    }
  }

  /**
   * Returns true if the store lacks the changes of a stamp. Most stamps are those of this client's
   * own writes, which the store has.
   */
  async #isNewStamp(stamp: string): Promise<boolean> {
    const { subscriptions, episodes } = await readMeta(this.options.store);
    return !(subscriptions && episodes && stamp <= subscriptions && stamp <= episodes);
  }

  #reportError(error: unknown): void {
    for (const listener of this.errorListeners) listener(error);
  }
}

function randomDelay(failures: number): number {
  return Math.random() * Math.min(backoff.first * 2 ** failures, backoff.max);
}
