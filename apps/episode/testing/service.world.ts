import { type DatabaseWorld, openDatabase } from '../../../libs/database/testing/database.world.js';
import { storeSubscription } from '../../../libs/database/testing/stored.subscription.js';
import { episodeConfig, type EpisodeQuotas } from '../src/episode.config.js';
import { EpisodeService } from '../src/episode.service.js';

/** The service on a database of its own, connected with its own login. */
export interface ServiceWorld extends DatabaseWorld {
  service: EpisodeService;
  /** Makes a live subscription named by these guids, its current one first; returns its row id. */
  subscription(userId: string, ...guids: [current: string, ...former: string[]]): Promise<number>;
}

/** The quotas where nothing else is said. */
const defaults = episodeConfig.parse({ DATABASE_URL: 'postgres://database' });

export async function openService(quotas: Partial<EpisodeQuotas> = {}): Promise<ServiceWorld> {
  const world = await openDatabase('episode');
  return {
    ...world,
    service: new EpisodeService(world.database, { ...defaults, ...quotas }),
    subscription: (userId, ...guids) => storeSubscription(world.owner, userId, guids, 'epoch'),
  };
}
