/** An episode of a feed. All texts are trimmed and within the limits of the interface. */
export interface FeedItem {
  readonly guid?: string;
  readonly title?: string;
  readonly publishDate?: Date;
  readonly enclosureUrl?: string;
  readonly episodeUrl?: string;
  readonly imageUrl?: string;
  /** Duration in seconds. */
  readonly duration?: number;
}

/** Maximum number of episodes of a feed that the server reads and stores: the newest ones. */
export const maxEpisodes = 100;

/** The content of a feed that the server uses. */
export interface FeedDocument {
  /**
   * True if the document has its end tag. Otherwise an item can be missing because the rest of the
   * document was not read.
   */
  readonly isWhole: boolean;
  readonly title?: string;
  readonly author?: string;
  /** Plain text of at most 1,000 bytes. */
  readonly description?: string;
  readonly link?: string;
  readonly language?: string;
  readonly imageUrl?: string;
  /** The guid that the feed declares (`podcast:guid`): a UUID in lower case. */
  readonly declaredGuid?: string;
  /** The new URL that the feed declares (`itunes:new-feed-url`). */
  readonly newFeedUrl?: string;
  /** True if directories must not list the feed (`itunes:block`). */
  readonly isBlocked: boolean;
  /** True if no more episodes will follow (`itunes:complete`). */
  readonly isComplete: boolean;
  /** Minutes for which the document can be cached (`ttl` of RSS). */
  readonly ttl?: number;
  /**
   * The newest {@link maxEpisodes} items in the order of the document, each with a guid or an
   * enclosure, and unique by them.
   */
  readonly items: readonly FeedItem[];
}
