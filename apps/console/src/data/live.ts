import { connect, user } from './session.js';
import type { Pulls } from './pulls.js';

/** How often is looked for news besides, in milliseconds: a hint may get lost. */
const pollMs = 5 * 60_000;
/** The longest wait before a stream is opened again, in milliseconds: any part of it, so that not all come at once. */
const againMs = { first: 2_000, most: 60_000 };

const followers: Pulls[] = [];
const hear = (stamp?: string) => followers.forEach((each) => void each.hint(stamp));

/** Keeps something up to date from now on. */
export function follow(pulls: Pulls): void {
  if (!followers.includes(pulls)) followers.push(pulls);
}

/**
 * Hears of every change of this person within a moment: by one stream for all windows of this browser, of which one has it
 * and tells the others. Where browsers have no locks (plain http) each window has its own.
 *
 * To be called once, when it is known who is signed in.
 */
export function beginLive(): void {
  setInterval(hear, pollMs, undefined);
  addEventListener('online', () => hear());
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && hear());
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

/** Reads streams one after another for as long as the page is there. */
async function stream(onStamp: (stamp: string) => void): Promise<never> {
  for (let failures = 0; ; failures++) {
    try {
      for await (const stamp of (await connect()).changes()) {
        failures = 0;
        onStamp(stamp);
      }
    } catch {
      // A server without streams, or none at all: what polls find has to do.
    }
    const ceiling = Math.min(againMs.first * 2 ** failures, againMs.most);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * ceiling));
  }
}
