import { podcastGuid } from '#contracts';
import { DatabaseModule } from '#database';
import { Fixture, type FixtureDatabase } from '#testing';
import { storeSubscription } from '../../../libs/database/testing/stored-subscription.js';
import { episodeConfig, type EpisodeQuotas } from '../src/episode.config.js';
import { ActionService } from '../src/action.service.js';
import { EpisodeModule } from '../src/episode.module.js';
import { EpisodeService } from '../src/episode.service.js';

/** The services of the app on a separate database, connected with the login of the app. */
export interface ServiceContext extends FixtureDatabase {
  service: EpisodeService;
  actions: ActionService;
  /** Creates a live subscription with guids, the current one first; returns its row id. */
  subscription(userId: string, ...guids: [current: string, ...former: string[]]): Promise<number>;
  /** Creates a live subscription with URLs, the current one first, and its derived guid. */
  feed(userId: string, ...urls: [current: string, ...former: string[]]): Promise<number>;
  close(): Promise<void>;
}

/** The default quotas. */
const defaults = episodeConfig.parse({ DATABASE_URL: 'postgres://database' });

/** Creates the services by the module of the app. */
export async function openService(quotas: Partial<EpisodeQuotas> = {}): Promise<ServiceContext> {
  const fixture = new Fixture();
  const base = await fixture.database('episode');
  const { database, owner } = base;
  const module = await fixture.module([
    DatabaseModule.forRoot(database),
    EpisodeModule.forRoot({ ...defaults, ...quotas }),
  ]);
  return {
    ...base,
    service: module.get(EpisodeService),
    actions: module.get(ActionService),
    subscription: (userId, ...guids) => storeSubscription(owner, userId, guids, 'epoch'),
    feed: (userId, ...urls) =>
      storeSubscription(owner, userId, [podcastGuid(urls[0])], 'epoch', urls),
    close: () => fixture.close(),
  };
}
