import { signal } from '@preact/signals';
import type { EntryFailureCode } from '#client';
import type { OpmlFeed } from '#opml';
import { newKey } from './key.js';
import { untilAnswered } from './network.js';
import { connect } from './session.js';
import { subscriptionPulls } from './subscriptions.js';

/** What became of a feed of the list. */
export interface Verdict extends OpmlFeed {
  readonly outcome: 'done' | EntryFailureCode | 'failed';
}

/** An import, from the choice of a file on. It goes on while other pages are looked at. */
export interface Import {
  readonly feeds: readonly OpmlFeed[];
  /** Entries of the file that are left out, as they name no feed or a feed for the second time. */
  readonly skipped: number;
  readonly verdicts: readonly Verdict[];
  readonly state: 'chosen' | 'running' | 'stopped' | 'finished';
}

/** Feeds that are sent at once. */
const batch = 250;

/** The present import, if there is one. */
export const present = signal<Import | undefined>();
let stopping: AbortController | undefined;

// What is still to be sent goes with the page: the browser asks whether to leave.
addEventListener('beforeunload', (event) => present.value?.state === 'running' && event.preventDefault());

/** Subscribes to the feeds of the list, a batch after the other; each waits for the network for as long as it takes. */
export async function run(): Promise<void> {
  const chosen = present.peek();
  if (chosen?.state !== 'chosen') return;
  const { feeds, skipped } = chosen;
  stopping = new AbortController();
  const stopped = stopping.signal;
  let verdicts: Verdict[] = [];
  present.value = { feeds, skipped, verdicts, state: 'running' };
  for (let at = 0; at < feeds.length && !stopped.aborted; at += batch) {
    const part = feeds.slice(at, at + batch);
    const judged = await send(part, stopped);
    if (judged === undefined) break;
    verdicts = [...verdicts, ...judged];
    present.value = { feeds, skipped, verdicts, state: 'running' };
  }
  present.value = { feeds, skipped, verdicts, state: verdicts.length < feeds.length ? 'stopped' : 'finished' };
  void subscriptionPulls.hint();
}

/** Ends an import after what is under way. */
export function stop(): void {
  stopping?.abort();
}

/** @returns undefined where it was stopped before there was an answer. */
async function send(part: readonly OpmlFeed[], stopped: AbortSignal): Promise<Verdict[] | undefined> {
  const entries = part.map(({ feedUrl }) => ({ feed_url: feedUrl }));
  const idempotencyKey = newKey();
  try {
    const { failure } = await untilAnswered(
      async () => (await connect()).addSubscriptions(entries, { idempotencyKey }),
      stopped,
    );
    const refused = new Map(failure.map(({ feed_url, code }) => [feed_url, code]));
    return part.map((feed) => ({ ...feed, outcome: refused.get(feed.feedUrl) ?? 'done' }));
  } catch {
    return stopped.aborted ? undefined : part.map((feed) => ({ ...feed, outcome: 'failed' }));
  }
}
