import type { ChangeLoader } from './change-loader.js';
import { apiOfUser, user } from './session.js';

/** Interval in milliseconds of polls. They find changes whose notification was lost. */
const pollInterval = 5 * 60_000;
/** Maximum of the random reconnect delay in ms. It doubles from `first` up to `max`. */
const reconnectDelay = { first: 2_000, max: 60_000 };
/** Milliseconds for which a stream must have been open to reset the reconnect delay. */
const stableStreamMs = 60_000;

/**
 * Keeps the data of loaders up to date by notifications and polls. Call it once, after the sign-in.
 * The windows of a browser share one stream. Without Web Locks (plain http), each window has one.
 */
export function startLiveUpdates(loaders: readonly ChangeLoader[]): void {
  const notifyLoaders = (stamp?: string) => loaders.forEach((loader) => void loader.notify(stamp));
  setInterval(notifyLoaders, pollInterval, undefined);
  addEventListener('online', () => notifyLoaders());
  document.addEventListener(
    'visibilitychange',
    () => document.visibilityState === 'visible' && notifyLoaders(),
  );
  const channelName = `podcast-sync-changes-${user.value?.id}`;
  const windowChannel = new BroadcastChannel(channelName);
  windowChannel.addEventListener('message', ({ data }) => notifyLoaders(String(data)));
  const followAsLeader = () =>
    followStreams((stamp) => {
      windowChannel.postMessage(stamp);
      notifyLoaders(stamp);
    });
  if ('locks' in navigator) void navigator.locks.request(channelName, followAsLeader);
  else void followAsLeader();
}

/** Reads change streams and reconnects, until the page closes. */
async function followStreams(onStamp: (stamp: string) => void): Promise<never> {
  for (let failures = 0; ; failures++) {
    const openTime = performance.now();
    try {
      for await (const stamp of (await apiOfUser()).changes()) onStamp(stamp);
    } catch {
      // If the server is unavailable or has no change streams, polls find the changes.
    }
    if (performance.now() - openTime > stableStreamMs) failures = 0;
    const ceiling = Math.min(reconnectDelay.first * 2 ** failures, reconnectDelay.max);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * ceiling));
  }
}
