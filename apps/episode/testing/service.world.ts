import { podcastGuid } from '#contracts';
import { type DatabaseWorld, openDatabase } from '../../../libs/database/testing/database.world.js';
import { storeSubscription } from '../../../libs/database/testing/stored.subscription.js';
import { episodeConfig, type EpisodeQuotas } from '../src/episode.config.js';
import { ActionService } from '../src/action.service.js';
import { EpisodeService } from '../src/episode.service.js';

/** The service on a database of its own, connected with its own login. */
export interface ServiceWorld extends DatabaseWorld {
  service: EpisodeService;
  actions: ActionService;
  /** Makes a live subscription named by these guids, its current one first; returns its row id. */
  subscription(userId: string, ...guids: [current: string, ...former: string[]]): Promise<number>;
  /** Makes a live subscription that is found by these URLs, its current one first, and the guid derived from that. */
  feed(userId: string, ...urls: [current: string, ...former: string[]]): Promise<number>;
}

/** The quotas where nothing else is said. */
const defaults = episodeConfig.parse({ DATABASE_URL: 'postgres://database' });

export async function openService(quotas: Partial<EpisodeQuotas> = {}): Promise<ServiceWorld> {
  const world = await openDatabase('episode');
  const limits = { ...defaults, ...quotas };
  return {
    ...world,
    service: new EpisodeService(world.database, limits),
    actions: new ActionService(world.database, limits),
    subscription: (userId, ...guids) => storeSubscription(world.owner, userId, guids, 'epoch'),
    feed: (userId, ...urls) => storeSubscription(world.owner, userId, [podcastGuid(urls[0])], 'epoch', urls),
  };
}
