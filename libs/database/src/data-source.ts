import pg from 'pg';
import { DataSource } from 'typeorm';
import { entities } from './entities/index.js';
import { migrations } from './migrations/index.js';

interface DatabaseOptions {
  url: string;
  /** Connections at most; default 10. */
  poolSize?: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
  /**
   * How long a statement outside a write may run; default {@link defaultStatementTimeoutMs}, 0 for no limit. A write
   * sets its own from its deadline.
   */
  statementTimeoutMs?: number;
  /** Behind a pooler in transaction mode, which refuses settings of a connection: those of the login hold then. */
  pooled?: boolean;
}

/** How long a statement outside a write may run by default, in milliseconds. */
export const defaultStatementTimeoutMs = 10_000;

/** How long a new connection may take, in milliseconds. */
const connectTimeoutMs = 5_000;

/**
 * How long an idle connection is kept, in milliseconds. Who needs a new one waits for a process to start, up to a tenth of
 * a second on a busy machine: with the driver's ten seconds that was somebody in each burst after a short lull.
 */
const idleMs = 30_000;

/** How long after a statement's time-out the connection counts as dead, in milliseconds. */
const silenceMs = 5_000;

const timestamptz = pg.types.builtins.TIMESTAMPTZ;
const int8 = pg.types.builtins.INT8;

/** Time stamps are read as ISO strings in UTC with milliseconds, and `bigint` ids as numbers (they stay below 2^53). */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): (value: never) => unknown {
    if (oid === timestamptz) return stamp;
    return oid === int8 ? Number : (pg.types.getTypeParser(oid, format as 'text') as (value: never) => unknown);
  },
};

const parseDate = pg.types.getTypeParser(timestamptz) as unknown as (text: string) => Date;

function stamp(text: string): string {
  // Faster for nearly all: a session in UTC, and a year of four digits.
  if (!text.endsWith('+00') || text.charAt(4) !== '-') return parseDate(text).toISOString();
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).slice(0, 3).padEnd(3, '0')}Z`;
}

/** A data source with the entities, which describe the tables, and the migrations, the only way to change them. */
export function createDataSource(options: DatabaseOptions): DataSource {
  const { url, poolSize = 10, applicationName, pooled = false } = options;
  const { statementTimeoutMs = defaultStatementTimeoutMs } = options;
  // Postgres itself ends a statement that takes too long; this is for a Postgres that no longer answers.
  const queryTimeoutMs = statementTimeoutMs === 0 ? 0 : statementTimeoutMs + silenceMs;
  return new DataSource({
    type: 'postgres',
    // Else TypeORM looks for the package on disk, where a bundled program has none.
    driver: pg,
    url,
    poolSize,
    applicationName,
    connectTimeoutMS: connectTimeoutMs,
    entities,
    migrations,
    schema: 'sync',
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    logging: false,
    poolErrorHandler: () => undefined,
    extra: {
      types,
      pipeline: true,
      // A prepared statement is planned once for any values, and not five times for its first ones.
      ...(!pooled && { statement_timeout: statementTimeoutMs, options: '-c plan_cache_mode=force_generic_plan' }),
      query_timeout: queryTimeoutMs,
      idleTimeoutMillis: idleMs,
      keepAlive: true,
    },
  });
}
