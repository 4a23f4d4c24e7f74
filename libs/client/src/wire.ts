// What goes over HTTP, with the interface's names (docs/reference/interface.md). Type tests pin it to the server's schemas
// (apps/gateway/src/client.types.spec.ts).

/** A subscription as the server shows it. Times are UTC with milliseconds, guids are in lower case. */
export interface Subscription {
  /** Address of the feed, exactly as it was sent. */
  feed_url: string;
  /** The guid that the client knew: of `GET /subscriptions/{guid}` the one asked for, in lists the one at `since`. */
  guid: string;
  is_subscribed: boolean;
  subscription_changed?: string;
  /** The current guid, where it is not `guid`. */
  new_guid?: string;
  guid_changed?: string;
  /** When it was deleted; only then is it there. */
  deleted?: string;
}

/** A subscription to add. */
export interface SubscriptionEntry {
  /** Absolute http or https URL, at most 4,096 bytes. */
  feed_url: string;
  /** The guid that the feed declares; without one the server derives it from the URL. */
  guid?: string;
  /** When the listener subscribed (RFC 3339); now where it is not sent. */
  timestamp?: string;
}

/** Why an entry of a batch was not accepted. */
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

/** The verdicts on subscriptions that were sent, in their order. */
export interface SubscribeAnswer {
  success: { feed_url: string; guid: string; is_subscribed: true; subscription_changed: string }[];
  failure: {
    feed_url: string;
    /** With `feed_url_taken` the guid of the subscription that has the URL. */
    guid?: string;
    code: EntryFailureCode;
    /** For people. */
    message: string;
  }[];
}

/** The verdicts on the feeds of an OPML document. */
export interface ImportAnswer extends SubscribeAnswer {
  /** How many entries of the document name no feed to subscribe to. */
  skipped: number;
}

/** What may be changed of a subscription: one of the first three at least. */
export interface SubscriptionPatch {
  new_feed_url?: string;
  new_guid?: string;
  is_subscribed?: boolean;
  /** When the listener subscribed or unsubscribed (RFC 3339). */
  timestamp?: string;
}

/** What was sent of a patch, and the stamps that follow. */
export interface UpdateAnswer {
  new_feed_url?: string;
  is_subscribed?: boolean;
  subscription_changed?: string;
  new_guid?: string;
  guid_changed?: string;
}

/** A state of an episode, and when the listener made it so. */
export interface Status<Value> {
  value: Value;
  /** Answers have `YYYY-MM-DDThh:mm` in UTC. What is sent may be that, or RFC 3339. */
  timestamp: string;
}

/** The states of an episode that the server keeps. Each is judged by itself: the latest one stands. */
export interface Statuses {
  /** Seconds. */
  playback_position?: Status<number>;
  played_status?: Status<boolean>;
  new_status?: Status<boolean>;
  download_status?: Status<boolean>;
  favorite_status?: Status<boolean>;
}

/** An episode as the server shows it. A text that is not known is empty, a `publish_date` is that of 1970. */
export interface Episode extends Statuses {
  /** The current guid of its subscription. */
  podcast_guid: string;
  /** What it is called for ever, a UUID. */
  sync_id: string;
  episode_guid: string;
  title: string;
  publish_date: string;
  enclosure_url: string;
  episode_url: string;
  /** Seconds. */
  duration?: number;
}

/** States of an episode to upload. It needs a `sync_id` that the server knows, an `episode_guid` or an `enclosure_url`. */
export type EpisodeEntry = Partial<Omit<Episode, 'podcast_guid'>> & {
  podcast_guid: string;
  /** The client's own name for the entry, answered as it was sent; at most 255 bytes. */
  temporary_id?: string | number;
};

/** The verdicts on episodes that were uploaded, in their order. */
export interface UploadAnswer {
  /** Whole episodes as they stand now. */
  success: (Episode & { temporary_id?: string | number })[];
  failure: {
    podcast_guid?: string;
    sync_id?: string;
    episode_guid?: string;
    enclosure_url?: string;
    temporary_id?: string | number;
    code: EntryFailureCode;
    /** For people. */
    message: string;
  }[];
}

/** A deletion that was asked for. */
export interface DeletionAccepted {
  deletion_id: number;
  message: string;
}

/** How a deletion goes: SUCCESS and FAILURE are final. */
export interface Deletion {
  deletion_id: number;
  status: 'PENDING' | 'SUCCESS' | 'FAILURE';
  message?: string;
}
