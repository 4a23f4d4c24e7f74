import pg from 'pg';

const { TIMESTAMPTZ, INT8 } = pg.types.builtins;
pg.types.setTypeParser(INT8, Number);
// Assumes a database in UTC.
pg.types.setTypeParser(
  TIMESTAMPTZ,
  (text) =>
    `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).slice(0, 3).padEnd(3, '0')}Z`,
);

/** As many as the subscription and the episode service have together. */
const connections = 20;

const bound = (statement, values) => ({ name: statement.name, text: statement.text, values });

/** Sends statements and transactions like the services: prepared, with pipelined start and end. */
export class Transactions {
  constructor(url) {
    this.pool = new pg.Pool({ connectionString: url, max: connections, pipeline: true });
  }

  query(statement, values) {
    return this.pool.query(bound(statement, values));
  }

  async transaction(run) {
    const client = await this.pool.connect();
    const query = (statement, values) => client.query(bound(statement, values));
    const commit = (...last) =>
      Promise.all([...last.map((one) => query(...one)), client.query('COMMIT')]);
    try {
      client
        .query('BEGIN; SET LOCAL lock_timeout = 5000; SET LOCAL statement_timeout = 5000')
        .catch(() => undefined);
      return await run(query, commit);
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }
}
