/** The tables whose rows of a user are copied; a table comes after those that it references. */
export const copiedTables = [
  'sync.user_clock',
  'sync.request',
  'sync.answer',
  'sync.readers',
  'sync.reader_sessions',
  'subscription.subscriptions',
  'subscription.guids',
  'subscription.former_guids',
  'subscription.feed_urls',
  'subscription.totals',
  'episode.episodes',
  'episode.states',
  'episode.sync_ids',
  'episode.totals',
  'deletion.deletions',
] as const;

/** The sequences that give out row ids, and the tables that have these ids. */
export const copiedSequences = [
  ['subscription.subscription_id', 'subscription.subscriptions'],
  ['episode.episode_id', 'episode.episodes'],
  ['deletion.deletion_id', 'deletion.deletions'],
] as const;
