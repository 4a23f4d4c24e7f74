import { signal } from '@preact/signals';
import { type EntryFailureCode, randomUuid } from '#client';
import type { OpmlFeed } from '#opml';
import { retryUntilAnswered } from './network.js';
import { apiOfUser } from './session.js';
import { subscriptionLoader } from './subscriptions.js';

/** A feed with the result of its import. */
export interface ImportResult extends OpmlFeed {
  readonly outcome: 'done' | EntryFailureCode | 'failed';
}

/** An import of an OPML file. It continues while other pages of the console are open. */
export interface OpmlImport {
  readonly feeds: readonly OpmlFeed[];
  /** Number of omitted entries: those without a feed, and duplicates. */
  readonly skipped: number;
  readonly results: readonly ImportResult[];
  readonly state: 'chosen' | 'running' | 'stopped' | 'finished';
}

const feedsPerRequest = 250;
/** Maximum length of a sent title in characters. The server would cut longer titles. */
const maxTitleLength = 2_048;

/** The current import; `undefined` before a file is chosen. */
export const currentImport = signal<OpmlImport | undefined>();
let abort: AbortController | undefined;

// Leaving the page discards unsent feeds, so the browser asks for confirmation.
addEventListener(
  'beforeunload',
  (event) => currentImport.value?.state === 'running' && event.preventDefault(),
);

/**
 * Subscribes to the feeds of the chosen file in batches. After a transient error, it retries until
 * {@link stopImport}.
 */
export async function startImport(): Promise<void> {
  const chosen = currentImport.peek();
  if (chosen?.state !== 'chosen') return;
  const { feeds, skipped } = chosen;
  abort = new AbortController();
  const abortSignal = abort.signal;
  let results: ImportResult[] = [];
  const update = (state: OpmlImport['state']) =>
    (currentImport.value = { feeds, skipped, results, state });
  update('running');
  for (let at = 0; at < feeds.length && !abortSignal.aborted; at += feedsPerRequest) {
    const part = feeds.slice(at, at + feedsPerRequest);
    const sent = await sendBatch(part, abortSignal);
    if (sent === undefined) break;
    results = [...results, ...sent];
    update('running');
  }
  update(results.length < feeds.length ? 'stopped' : 'finished');
  void subscriptionLoader.notify();
}

/** Stops an import after the current request. */
export function stopImport(): void {
  abort?.abort();
}

/** Subscribes to a batch. @returns undefined if the import stopped before the response. */
async function sendBatch(
  part: readonly OpmlFeed[],
  abortSignal: AbortSignal,
): Promise<ImportResult[] | undefined> {
  const entries = part.map(({ feedUrl, title }) => ({
    feed_url: feedUrl,
    title: title.slice(0, maxTitleLength),
  }));
  const idempotencyKey = randomUuid();
  try {
    const { failure } = await retryUntilAnswered(
      async () => (await apiOfUser()).addSubscriptions(entries, { idempotencyKey }),
      abortSignal,
    );
    const codes = new Map(failure.map(({ feed_url, code }) => [feed_url, code]));
    return part.map((feed) => ({ ...feed, outcome: codes.get(feed.feedUrl) ?? 'done' }));
  } catch {
    return abortSignal.aborted ? undefined : part.map((feed) => ({ ...feed, outcome: 'failed' }));
  }
}
