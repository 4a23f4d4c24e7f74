import { CreateSync1764195000001 } from './1764195000001-create-sync.js';
import { CreateSubscription1764195000002 } from './1764195000002-create-subscription.js';
import { CreateEpisode1764195000003 } from './1764195000003-create-episode.js';
import { CreateDeletion1764195000004 } from './1764195000004-create-deletion.js';
import { CreateAccount1764195000005 } from './1764195000005-create-account.js';
import { CreateFeed1764195000006 } from './1764195000006-create-feed.js';

/** All migrations in order. A released migration is never edited. */
export const migrations = [
  CreateSync1764195000001,
  CreateSubscription1764195000002,
  CreateEpisode1764195000003,
  CreateDeletion1764195000004,
  CreateAccount1764195000005,
  CreateFeed1764195000006,
];
