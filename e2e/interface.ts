/** The bodies of the interface: those of the SDK. Type tests compare them with the server's. */
export type {
  Deletion,
  DeletionAccepted,
  Episode,
  EpisodeEntry,
  SubscribeAnswer,
  Subscription,
  UploadAnswer,
} from '#client';
import type { Episode, Subscription } from '#client';

interface Page {
  total: number;
  page: number;
  per_page: number;
  next?: string;
  previous?: string;
}

export type SubscriptionPage = Page & { subscriptions: Subscription[] };
export type EpisodePage = Page & { episodes: Episode[] };
