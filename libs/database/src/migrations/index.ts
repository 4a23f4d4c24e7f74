import { CreateSync1763715600000 } from './1763715600000-create-sync.js';
import { CreateSubscription1763715601000 } from './1763715601000-create-subscription.js';
import { CreateEpisode1763715602000 } from './1763715602000-create-episode.js';
import { CreateDeletion1763715603000 } from './1763715603000-create-deletion.js';
import { CreateAccount1763715604000 } from './1763715604000-create-account.js';
import { CreateFeed1764100000000 } from './1764100000000-create-feed.js';
import { UnguessableDeletionIds1764110000000 } from './1764110000000-unguessable-deletion-ids.js';
import { CreateFeedImages1764111000000 } from './1764111000000-create-feed-images.js';
import { CreatePreviews1764111001000 } from './1764111001000-create-previews.js';
import { RecordAppUse1764112000000 } from './1764112000000-record-app-use.js';
import { RenameSyncState1764113000000 } from './1764113000000-rename-sync-state.js';

/** All migrations in order. A released migration is never edited. */
export const migrations = [
  CreateSync1763715600000,
  CreateSubscription1763715601000,
  CreateEpisode1763715602000,
  CreateDeletion1763715603000,
  CreateAccount1763715604000,
  CreateFeed1764100000000,
  UnguessableDeletionIds1764110000000,
  CreateFeedImages1764111000000,
  CreatePreviews1764111001000,
  RecordAppUse1764112000000,
  RenameSyncState1764113000000,
];
