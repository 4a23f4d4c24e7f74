import type { ChangeLoader } from './change.loader.js';
import { connect, user } from './session.js';

/** Interval of polls in milliseconds, since notifications can be lost. */
const pollInterval = 5 * 60_000;
/** Limits of the random reconnect delay in milliseconds, which spreads the reconnects. */
const backoff = { first: 2_000, max: 60_000 };

/**
 * Keeps the data of loaders up to date by notifications and polls. Call it once, after the sign-in.
 * The windows of a browser share one stream; without Web Locks (plain http) each has its own.
 */
export function startLiveUpdates(loaders: readonly ChangeLoader[]): void {
  const notify = (stamp?: string) => loaders.forEach((loader) => void loader.notify(stamp));
  setInterval(notify, pollInterval, undefined);
  addEventListener('online', () => notify());
  document.addEventListener(
    'visibilitychange',
    () => document.visibilityState === 'visible' && notify(),
  );
  const name = `podcast-sync-changes-${user.value?.id}`;
  const windows = new BroadcastChannel(name);
  windows.addEventListener('message', ({ data }) => notify(String(data)));
  const lead = () =>
    followStreams((stamp) => {
      windows.postMessage(stamp);
      notify(stamp);
    });
  if ('locks' in navigator) void navigator.locks.request(name, lead);
  else void lead();
}

/** Reads change streams and reconnects, until the page closes. */
async function followStreams(onStamp: (stamp: string) => void): Promise<never> {
  for (let failures = 0; ; failures++) {
    try {
      for await (const stamp of (await connect()).changes()) {
        failures = 0;
        onStamp(stamp);
      }
    } catch {
      // Without streams or a server, polls find the changes.
    }
    const ceiling = Math.min(backoff.first * 2 ** failures, backoff.max);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * ceiling));
  }
}
