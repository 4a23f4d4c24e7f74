/** An entry of POST /subscriptions, with the field names of the rules. */
export interface Entry {
  feedUrl: string;
  guid?: string | undefined;
  timestamp?: string;
  title?: string;
}

/** Returns the body of a POST of these entries. */
export function sentBody(entries: readonly Entry[]) {
  return { subscriptions: entries.map(({ feedUrl, ...more }) => ({ feed_url: feedUrl, ...more })) };
}
