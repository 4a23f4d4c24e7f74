import { connect, user } from './session.js';
import type { Pulls } from './pulls.js';

/** Interval of polls in milliseconds, since notifications can be lost. */
const pollMs = 5 * 60_000;
/** Limits of the random reconnect delay in milliseconds, which spreads the reconnects. */
const againMs = { first: 2_000, most: 60_000 };

const followers: Pulls[] = [];
const hear = (stamp?: string) => followers.forEach((each) => void each.hint(stamp));

/** Keeps data up to date by notifications and polls. */
export function follow(pulls: Pulls): void {
  if (!followers.includes(pulls)) followers.push(pulls);
}

/**
 * Subscribes to the changes of this user. Call it once, after the sign-in. The windows of a browser
 * share one stream; without locks (plain http) each has its own.
 */
export function beginLive(): void {
  setInterval(hear, pollMs, undefined);
  addEventListener('online', () => hear());
  document.addEventListener(
    'visibilitychange',
    () => document.visibilityState === 'visible' && hear(),
  );
  const name = `podcast-sync-changes-${user.value?.id}`;
  const windows = new BroadcastChannel(name);
  windows.addEventListener('message', ({ data }) => hear(String(data)));
  const lead = () =>
    stream((stamp) => {
      windows.postMessage(stamp);
      hear(stamp);
    });
  if ('locks' in navigator) void navigator.locks.request(name, lead);
  else void lead();
}

/** Reads change streams and reconnects, until the page closes. */
async function stream(onStamp: (stamp: string) => void): Promise<never> {
  for (let failures = 0; ; failures++) {
    try {
      for await (const stamp of (await connect()).changes()) {
        failures = 0;
        onStamp(stamp);
      }
    } catch {
      // Without streams or a server, polls find the changes.
    }
    const ceiling = Math.min(againMs.first * 2 ** failures, againMs.most);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * ceiling));
  }
}
