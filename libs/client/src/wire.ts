// Types of requests and responses, as in docs/reference/interface.md. The type tests in
// apps/gateway/src/client-types.spec.ts compare them with the server's schemas.

/**
 * Versions by capability. `urn:opa:core` is the draft of the Open Podcast API, `urn:podcast-sync:…`
 * are additions to it. `root` is the path of the operations.
 */
export type Capabilities = Record<
  string,
  Record<string, { status: 'STABLE' | 'UNSTABLE' | 'DEPRECATED'; root: string }>
>;

/** A subscription in responses. Times are UTC with milliseconds, guids are in lower case. */
export interface Subscription {
  /** The feed URL as a client first sent it. */
  feed_url: string;
  /**
   * In `GET /subscriptions/{guid}`: the requested guid. In lists: the guid at the time `since`, by
   * which the client finds its stored row.
   */
  guid: string;
  is_subscribed: boolean;
  subscription_changed?: string;
  /** The current guid, if it differs from `guid`. */
  new_guid?: string;
  guid_changed?: string;
  /** The listener's own title, if there is one. */
  title?: string;
  /** Time of the deletion. Only deleted subscriptions have it. */
  deleted?: string;
}

/** A subscription to add. */
export interface SubscriptionEntry {
  /** Absolute http or https URL, at most 4,096 bytes. */
  feed_url: string;
  /** The guid that the feed declares. Default: the server derives one from the URL. */
  guid?: string;
  /** Time at which the listener subscribed (RFC 3339). Default: now. */
  timestamp?: string;
  /** The listener's own title. The one with the latest timestamp wins. Default: unchanged. */
  title?: string;
}

/**
 * Reasons for rejecting an entry of a batch. docs/reference/subscriptions.md and episodes.md define
 * them.
 */
export type EntryFailureCode =
  | 'invalid_url'
  | 'invalid_guid'
  | 'invalid_value'
  | 'missing_identifier'
  | 'unknown_subscription'
  | 'wrong_subscription'
  | 'feed_url_taken'
  | 'superseded'
  | 'limit_reached';

/** Results for the sent subscriptions, in the order of the request. */
export interface SubscribeAnswer {
  success: { feed_url: string; guid: string; is_subscribed: true; subscription_changed: string }[];
  failure: {
    feed_url: string;
    /** With `feed_url_taken`: the guid of the subscription that has the URL. */
    guid?: string;
    code: EntryFailureCode;
    /** Reason of the failure in English, from the server. */
    message: string;
  }[];
}

/** Results for the feeds of an OPML document. */
export interface ImportAnswer extends SubscribeAnswer {
  /** Number of entries without a feed. */
  skipped: number;
}

/** A patch of a subscription. At least one field other than `timestamp` is required. */
export interface SubscriptionPatch {
  new_feed_url?: string;
  new_guid?: string;
  is_subscribed?: boolean;
  /** Time at which the listener made the change (RFC 3339). Default: now. */
  timestamp?: string;
  /** The listener's own title; empty to remove it. */
  title?: string;
}

/** The resulting values of the fields of a patch, with the times of the changes on the server. */
export interface UpdateAnswer {
  new_feed_url?: string;
  is_subscribed?: boolean;
  subscription_changed?: string;
  new_guid?: string;
  guid_changed?: string;
  /** The listener's own title; empty without one. */
  title?: string;
}

/** A state of an episode, with the time of the listener's change. */
export interface Status<Value> {
  value: Value;
  /** `YYYY-MM-DDThh:mm` in UTC in responses. Requests can also use RFC 3339. */
  timestamp: string;
}

/** Stored states of an episode. The latest timestamp wins for each state separately. */
export interface Statuses {
  /** In seconds. */
  playback_position?: Status<number>;
  played_status?: Status<boolean>;
  new_status?: Status<boolean>;
  download_status?: Status<boolean>;
  favorite_status?: Status<boolean>;
}

/** An episode in responses. Unknown texts are empty, an unknown `publish_date` is in 1970. */
export interface Episode extends Statuses {
  /** The current guid of its subscription. */
  podcast_guid: string;
  /** Permanent id, a UUID. */
  sync_id: string;
  episode_guid: string;
  title: string;
  publish_date: string;
  enclosure_url: string;
  episode_url: string;
  /** In seconds. */
  duration?: number;
}

/** An episode to upload. Needs an existing `sync_id`, or an `episode_guid` or `enclosure_url`. */
export type EpisodeEntry = Partial<Omit<Episode, 'podcast_guid'>> & {
  podcast_guid: string;
  /** The client's own name for the entry, returned unchanged. At most 255 bytes. */
  temporary_id?: string | number;
};

/** A subscribed podcast as its publisher describes it. Its texts contain no HTML. */
export interface Podcast {
  /** The current guid of its subscription. */
  guid: string;
  feed_url: string;
  /**
   * - `pending`: not fetched yet
   * - `ok`: fetched
   * - `failing`: no success for three days
   * - `gone`: ended by the publisher, or no success for half a year
   * - `refused`: at an address that the server does not connect to
   * - `private`: a feed for one listener, which the server does not fetch
   */
  status: 'pending' | 'ok' | 'failing' | 'gone' | 'refused' | 'private';
  title?: string;
  author?: string;
  description?: string;
  link?: string;
  language?: string;
  /** On the publisher's server: loading it reveals the client's IP address. */
  image_url?: string;
  /**
   * URL of a picture of 256 x 256 pixels on the API's server, or on the platform whose catalogue
   * lists the feed. Loading it does not reveal the listener to the publisher.
   */
  artwork?: string;
  latest_publish_date?: string;
}

/** Preview of the feed at a URL. Its texts contain no HTML. */
export interface FeedPreview {
  /**
   * - `ok`: a feed
   * - `not_a_feed`: another document; see `alternates`
   * - `private`: a feed for one listener, which the server does not fetch
   * - `refused`: at an address that the server does not connect to
   * - `failed`: no response in time, or an error
   */
  status: 'ok' | 'not_a_feed' | 'private' | 'refused' | 'failed';
  title?: string;
  author?: string;
  description?: string;
  link?: string;
  /** A picture of 256 x 256 pixels, as a `data:` URL. */
  picture?: string;
  /** With `not_a_feed`: at most five feeds that the page links to. */
  alternates?: { feed_url: string; title?: string }[];
}

/** An episode of a feed. Add a status to upload it as an {@link EpisodeEntry}. */
export interface FeedEpisode {
  podcast_guid: string;
  episode_guid?: string;
  title?: string;
  publish_date?: string;
  enclosure_url?: string;
  episode_url?: string;
  /** In seconds. */
  duration?: number;
  /** On the publisher's server: loading it reveals the client's IP address. */
  image_url?: string;
}

/** Results for the uploaded episodes, in the order of the request. */
export interface UploadAnswer {
  /** Whole episodes with their current values. */
  success: (Episode & { temporary_id?: string | number })[];
  failure: {
    podcast_guid?: string;
    sync_id?: string;
    episode_guid?: string;
    enclosure_url?: string;
    temporary_id?: string | number;
    code: EntryFailureCode;
    /** Reason of the failure in English, from the server. */
    message: string;
  }[];
}

/** An accepted request for a deletion. */
export interface DeletionAccepted {
  deletion_id: number;
  message: string;
}

/** Status of a deletion. SUCCESS and FAILURE are final. */
export interface Deletion {
  deletion_id: number;
  status: 'PENDING' | 'SUCCESS' | 'FAILURE';
  message?: string;
}
