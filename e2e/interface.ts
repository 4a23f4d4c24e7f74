/** The bodies of the interface, as far as the tests read them. */

export interface Subscription {
  feed_url: string;
  guid: string;
  is_subscribed: boolean;
  subscription_changed?: string;
  new_guid?: string;
  guid_changed?: string;
  deleted?: string;
}

export interface Status<Value> {
  value: Value;
  timestamp: string;
}

export interface Statuses {
  playback_position?: Status<number>;
  played_status?: Status<boolean>;
  new_status?: Status<boolean>;
  download_status?: Status<boolean>;
  favorite_status?: Status<boolean>;
}

export interface Episode extends Statuses {
  podcast_guid: string;
  sync_id: string;
  episode_guid: string;
  title: string;
  publish_date: string;
  enclosure_url: string;
  episode_url: string;
  duration?: number;
}

interface Page {
  total: number;
  page: number;
  per_page: number;
  next?: string;
  previous?: string;
}

export type SubscriptionPage = Page & { subscriptions: Subscription[] };
export type EpisodePage = Page & { episodes: Episode[] };

export interface SubscribeAnswer {
  success: { feed_url: string; guid: string; is_subscribed: true; subscription_changed: string }[];
  failure: { feed_url: string; guid?: string; code: string; message: string }[];
}

export interface UpdateAnswer {
  new_feed_url?: string;
  is_subscribed?: boolean;
  subscription_changed?: string;
  new_guid?: string;
  guid_changed?: string;
}

export interface UploadAnswer {
  success: (Episode & { temporary_id?: string | number })[];
  failure: {
    podcast_guid?: string;
    sync_id?: string;
    episode_guid?: string;
    enclosure_url?: string;
    temporary_id?: string | number;
    code: string;
    message: string;
  }[];
}

export interface DeletionAccepted {
  deletion_id: number;
  message: string;
}

export interface Deletion {
  deletion_id: number;
  status: 'PENDING' | 'SUCCESS' | 'FAILURE';
  message?: string;
}

/** An entry of POST /episodes. */
export type EpisodeEntry = Partial<Omit<Episode, 'podcast_guid'>> & {
  podcast_guid: string;
  temporary_id?: string | number;
};
