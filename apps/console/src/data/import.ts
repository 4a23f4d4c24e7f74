import { signal } from '@preact/signals';
import type { EntryFailureCode } from '#client';
import type { OpmlFeed } from '#opml';
import { newKey } from './key.js';
import { untilAnswered } from './network.js';
import { connect } from './session.js';
import { subscriptionPulls } from './subscriptions.js';

/** A feed with the result of its import. */
export interface Verdict extends OpmlFeed {
  readonly outcome: 'done' | EntryFailureCode | 'failed';
}

/** An import, from the selection of the file. It continues while the user visits other pages. */
export interface Import {
  readonly feeds: readonly OpmlFeed[];
  /** Number of omitted entries: without a feed, or repeated. */
  readonly skipped: number;
  readonly verdicts: readonly Verdict[];
  readonly state: 'chosen' | 'running' | 'stopped' | 'finished';
}

const batch = 250;
/** Maximum characters of a sent title, as the server cuts longer ones and limits the request. */
const mostTitle = 2_048;

/** The current import. */
export const present = signal<Import | undefined>();
let stopping: AbortController | undefined;

// Leaving the page discards unsent feeds, so the browser asks for confirmation.
addEventListener(
  'beforeunload',
  (event) => present.value?.state === 'running' && event.preventDefault(),
);

/** Subscribes to the feeds in batches. Each batch waits for the network without limit. */
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
  present.value = {
    feeds,
    skipped,
    verdicts,
    state: verdicts.length < feeds.length ? 'stopped' : 'finished',
  };
  void subscriptionPulls.hint();
}

/** Stops an import after the current request. */
export function stop(): void {
  stopping?.abort();
}

/** Sends a batch. @returns undefined if the import stopped before the response. */
async function send(
  part: readonly OpmlFeed[],
  stopped: AbortSignal,
): Promise<Verdict[] | undefined> {
  const entries = part.map(({ feedUrl, title }) => ({
    feed_url: feedUrl,
    title: title.slice(0, mostTitle),
  }));
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
