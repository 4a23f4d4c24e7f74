import type { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';
import pg, { type Pool } from 'pg';
import { createDataSource, Database } from '#database';
import { createDatabase } from '#testing';
import { CallContext } from '#transport';
import { episodeConfig, type EpisodeQuotas } from '../src/episode.config.js';
import { EpisodeService } from '../src/episode.service.js';

/** The service on a database of its own, connected with its own login. */
export interface ServiceWorld {
  service: EpisodeService;
  database: Database;
  /** May look at and prepare everything. */
  owner: pg.Client;
  /** How many statements the server has answered for the service so far. */
  statements(): number;
  /** Makes a live subscription named by these guids, the last of them its current one; returns its row id. */
  subscription(userId: string, ...guids: string[]): Promise<number>;
  close(): Promise<void>;
}

const makeSubscription = `
  WITH made AS (
    INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed, subscription_changed, added, changed)
    VALUES ($1, 'https://podcast.example/feed', $3, true, 'epoch', 'epoch', 'epoch') RETURNING id
  ), named AS (
    INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
    SELECT $1, guid, id, 'epoch' FROM made, unnest($2::uuid[]) guid
  )
  SELECT id::int FROM made`;

/** The quotas where nothing else is said. */
const defaults = episodeConfig.parse({ DATABASE_URL: 'postgres://database' });

export async function openService(quotas: Partial<EpisodeQuotas> = {}): Promise<ServiceWorld> {
  const testDatabase = await createDatabase();
  const owner = new pg.Client({ connectionString: testDatabase.ownerUrl });
  await owner.connect();
  const dataSource = await createDataSource({ url: testDatabase.urls.episode, poolSize: 10 }).initialize();
  const database = new Database(dataSource);
  let answered = 0;
  const counted = new WeakSet<EventEmitter>();
  const pool = (dataSource.driver as unknown as { master: Pool }).master;
  pool.on('acquire', (client) => {
    // The server ends each statement with a message of its own.
    const { connection } = client as unknown as { connection: EventEmitter };
    if (!counted.has(connection)) connection.on('commandComplete', () => (answered += 1));
    counted.add(connection);
  });
  return {
    service: new EpisodeService(database, { ...defaults, ...quotas }),
    database,
    owner,
    statements: () => answered,
    subscription: async (userId, ...guids) => {
      const { rows } = await owner.query<{ id: number }>(makeSubscription, [userId, guids, guids.at(-1)]);
      return (rows[0] as { id: number }).id;
    },
    close: async () => {
      await database.close();
      await owner.end();
      await testDatabase.drop();
    },
  };
}

/** A call as a handler sees it. */
export function call(requestId: string = randomUUID(), budgetMs = 10_000): CallContext {
  const request = { pattern: 'test', data: '', budgetMs, until: budgetMs, metadata: { requestId } };
  return new CallContext([{ id: '0-0', deadline: performance.now() + budgetMs, request }, () => performance.now()]);
}
