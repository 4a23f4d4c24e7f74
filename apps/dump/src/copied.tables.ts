/** Tables with the rows of a user, in an order in which referenced tables come first. */
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

/** Sequences of row ids, with the tables that use them. */
export const copiedSequences = [
  ['subscription.subscription_id', 'subscription.subscriptions'],
  ['episode.episode_id', 'episode.episodes'],
] as const;
