import { signal } from '@preact/signals';
import { type EntryFailureCode, randomUuid } from '#client';
import type { OpmlFeed } from '#opml';
import { retryUntilAnswered } from './network.js';
import { apiOfUser } from './session.js';
import { subscriptionLoader } from './subscriptions.js';

/** A feed of an OPML file with the result of its import. */
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
/** Maximum length of a sent title in characters. The server cuts longer titles too. */
const maxTitleLength = 2_048;

/** The current import; `undefined` before a file is chosen. */
export const currentImport = signal<OpmlImport | undefined>();
let abortController: AbortController | undefined;

// Leaving the page discards unsent feeds, so the browser asks for confirmation.
addEventListener(
  'beforeunload',
  (event) => currentImport.value?.state === 'running' && event.preventDefault(),
);

/**
 * Subscribes to the feeds of the chosen file in batches. Retries transient errors until
 * {@link stopImport}.
 */
export async function startImport(): Promise<void> {
  const chosenImport = currentImport.peek();
  if (chosenImport?.state !== 'chosen') return;
  const { feeds, skipped } = chosenImport;
  abortController = new AbortController();
  const abortSignal = abortController.signal;
  let results: ImportResult[] = [];
  const updateState = (state: OpmlImport['state']) =>
    (currentImport.value = { feeds, skipped, results, state });
  updateState('running');
  for (let offset = 0; offset < feeds.length && !abortSignal.aborted; offset += feedsPerRequest) {
    const batch = feeds.slice(offset, offset + feedsPerRequest);
    const batchResults = await sendBatch(batch, abortSignal);
    if (batchResults === undefined) break;
    results = [...results, ...batchResults];
    updateState('running');
  }
  updateState(results.length < feeds.length ? 'stopped' : 'finished');
  void subscriptionLoader.notify();
}

/** Stops an import after the current request. */
export function stopImport(): void {
  abortController?.abort();
}

/** Subscribes to a batch of feeds. @returns undefined if the import stopped before the response. */
async function sendBatch(
  batch: readonly OpmlFeed[],
  abortSignal: AbortSignal,
): Promise<ImportResult[] | undefined> {
  const entries = batch.map(({ feedUrl, title }) => ({
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
    return batch.map((feed) => ({ ...feed, outcome: codes.get(feed.feedUrl) ?? 'done' }));
  } catch {
    return abortSignal.aborted ? undefined : batch.map((feed) => ({ ...feed, outcome: 'failed' }));
  }
}
