import type { EventEmitter } from 'node:events';
import pg, { type Pool } from 'pg';
import { createDatabase, type TestDatabase } from '#testing';
import { createDataSource } from '../src/data-source.js';
import { Database } from '../src/database.js';

/** A database of its own, as a service has it. */
export interface DatabaseWorld extends Pick<TestDatabase, 'name' | 'urls'> {
  /** Connected with the service's own login. */
  database: Database;
  /** May look at and prepare everything. */
  owner: pg.Client;
  /** How many statements the server has answered for the service so far. */
  statements(): number;
  close(): Promise<void>;
}

/**
 * Makes a database and connects to it. To be called in `beforeAll`; only in the `int` tier.
 *
 * @param events whether writes are announced.
 */
export async function openDatabase(login: keyof TestDatabase['urls'], events = false): Promise<DatabaseWorld> {
  const { name, urls, ownerUrl, drop } = await createDatabase();
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  const dataSource = await createDataSource({ url: urls[login], poolSize: 10 }).initialize();
  const database = new Database(dataSource, true, undefined, events);
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
    name,
    urls,
    database,
    owner,
    statements: () => answered,
    close: async () => {
      await database.close();
      await owner.end();
      await drop();
    },
  };
}
