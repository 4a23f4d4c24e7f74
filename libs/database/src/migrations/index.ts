import { CreateSync1763715600000 } from './1763715600000-create-sync.js';
import { CreateReaders1763715600500 } from './1763715600500-create-readers.js';
import { CreateSubscription1763715601000 } from './1763715601000-create-subscription.js';
import { CreateEpisode1763715602000 } from './1763715602000-create-episode.js';
import { CreateDeletion1763715603000 } from './1763715603000-create-deletion.js';
import { CreateAccount1763715604000 } from './1763715604000-create-account.js';
import { CreateErasure1763715605000 } from './1763715605000-create-erasure.js';
import { OwnAnswers1763715606000 } from './1763715606000-own-answers.js';
import { SuspendCredentials1763715646000 } from './1763715646000-suspend-credentials.js';
import { CreateNotices1763715647000 } from './1763715647000-create-notices.js';
import { RandomDeletionIds1763715648000 } from './1763715648000-random-deletion-ids.js';
import { CompareUrls1764086400000 } from './1764086400000-compare-urls.js';
import { CreateFeed1764100000000 } from './1764100000000-create-feed.js';
import { PrepareDistribution1764100001000 } from './1764100001000-prepare-distribution.js';
import { AddSubscriptionTitle1764101000000 } from './1764101000000-add-subscription-title.js';
import { PushFeeds1764102000000 } from './1764102000000-push-feeds.js';
import { DescribeEpisodes1764102001000 } from './1764102001000-describe-episodes.js';
import { MoveFeeds1764102002000 } from './1764102002000-move-feeds.js';
import { OrderErasureLocks1764103000000 } from './1764103000000-order-erasure-locks.js';
import { RenameSyncState1764113000000 } from './1764113000000-rename-sync-state.js';

/** All migrations in order. A released migration is never edited. */
export const migrations = [
  CreateSync1763715600000,
  CreateReaders1763715600500,
  CreateSubscription1763715601000,
  CreateEpisode1763715602000,
  CreateDeletion1763715603000,
  CreateAccount1763715604000,
  CreateErasure1763715605000,
  OwnAnswers1763715606000,
  SuspendCredentials1763715646000,
  CreateNotices1763715647000,
  RandomDeletionIds1763715648000,
  CompareUrls1764086400000,
  CreateFeed1764100000000,
  PrepareDistribution1764100001000,
  AddSubscriptionTitle1764101000000,
  PushFeeds1764102000000,
  DescribeEpisodes1764102001000,
  MoveFeeds1764102002000,
  OrderErasureLocks1764103000000,
  RenameSyncState1764113000000,
];
