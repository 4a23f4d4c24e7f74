import type { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';
import pg, { type Pool } from 'pg';
import { createDataSource, Database } from '#database';
import { createDatabase } from '#testing';
import { CallContext } from '#transport';
import { subscriptionConfig, type SubscriptionQuotas } from '../src/subscription.config.js';
import { SubscriptionService } from '../src/subscription.service.js';

/** The service on a database of its own, connected with its own login. */
export interface ServiceWorld {
  service: SubscriptionService;
  database: Database;
  /** A connection that may read and write everything. */
  owner: pg.Client;
  /** How many statements the server has answered for the service so far. */
  statements(): number;
  close(): Promise<void>;
}

/** The default quotas. */
const defaults = subscriptionConfig.parse({ DATABASE_URL: 'postgres://database' });

export async function openService(quotas: Partial<SubscriptionQuotas> = {}): Promise<ServiceWorld> {
  const testDatabase = await createDatabase();
  const owner = new pg.Client({ connectionString: testDatabase.ownerUrl });
  await owner.connect();
  const dataSource = await createDataSource({ url: testDatabase.urls.subscription, poolSize: 10 }).initialize();
  const database = new Database(dataSource);
  let answered = 0;
  const counted = new WeakSet<EventEmitter>();
  const pool = (dataSource.driver as unknown as { master: Pool }).master;
  pool.on('acquire', (client) => {
    // The server ends the answer to each statement with this message.
    const { connection } = client as unknown as { connection: EventEmitter };
    if (!counted.has(connection)) connection.on('commandComplete', () => (answered += 1));
    counted.add(connection);
  });
  return {
    service: new SubscriptionService(database, { ...defaults, ...quotas }),
    database,
    owner,
    statements: () => answered,
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
