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

/** Returns the time at the end of a migration's name, in milliseconds since 1970. */
const parseTime = (name: string) => Number(name.slice(-13));
const times = migrations.map(({ name }) => parseTime(name));
const [firstTime, lastTime] = [Math.min(...times), Math.max(...times)];

/**
 * Returns true if the applied migrations include one of a version before 0.2.0. Such a database
 * cannot be upgraded, because 0.2.0 replaced all earlier migrations.
 *
 * @param applied the names of the applied migrations.
 */
export function areBeforeFirstRelease(applied: readonly string[]): boolean {
  return applied.some((name) => parseTime(name) < firstTime);
}

/** Returns the names of applied migrations that are later than all migrations of this release. */
export function laterMigrations(applied: readonly string[]): string[] {
  return applied.filter((name) => parseTime(name) > lastTime);
}
