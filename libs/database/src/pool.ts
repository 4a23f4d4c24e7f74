import pg, { type Pool } from 'pg';
import { Gauge, register } from 'prom-client';
import { clientOfNodes, nodesOf } from './cluster-nodes.js';
import type { Distribution } from './database.config.js';

interface PoolOptions {
  /** URL of Postgres, or several URLs, separated by commas, of the nodes of a Citus cluster. */
  url: string;
  /** Maximum number of connections. Default 10. */
  poolSize?: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
  /**
   * Time limit of a statement outside a transaction. Default {@link defaultStatementTimeoutMs}, 0
   * for none. The deadline of a transaction limits its statements.
   */
  statementTimeoutMs?: number;
  /** Selects the plan mode ({@link planModes}). Default `none`. */
  distribution?: Distribution | undefined;
  /** True behind a pooler in transaction mode, which rejects connection settings. Default false. */
  pooled?: boolean;
}

/** Default time limit of a statement outside a transaction, in milliseconds. */
export const defaultStatementTimeoutMs = 10_000;

/**
 * The `plan_cache_mode` by distribution. `force_generic_plan` plans a prepared statement once,
 * because planning takes longer than running it. Citus chooses the node by the values, so it needs
 * a plan for each execution.
 */
export const planModes: Readonly<Record<Distribution, string>> = {
  none: 'force_generic_plan',
  citus: 'force_custom_plan',
};

const connectTimeoutMs = 5_000;

/**
 * Time until an idle connection is closed, in milliseconds. Opening a connection starts a process
 * of Postgres, which takes up to 100 ms on a busy machine. With the driver's default of 10 s, each
 * burst after a short pause had this delay.
 */
const idleLimitMs = 30_000;

/**
 * Time in milliseconds that Postgres has to report the timeout of a statement. After that, the
 * connection counts as lost.
 */
const silenceLimitMs = 5_000;

const timestamptz = pg.types.builtins.TIMESTAMPTZ;
const int8 = pg.types.builtins.INT8;

/**
 * Parses `timestamptz` to ISO strings, cut to milliseconds, and `bigint` to numbers, which are
 * exact below 2^53.
 */
const typeParsers = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): (value: never) => unknown {
    if (oid === timestamptz) return formatTimestamp;
    return oid === int8
      ? Number
      : (pg.types.getTypeParser(oid, format as 'text') as (value: never) => unknown);
  },
};

const parseDate = pg.types.getTypeParser(timestamptz) as unknown as (text: string) => Date;

function formatTimestamp(text: string): string {
  // The fast path below needs a session in UTC and a year of four digits.
  if (!text.endsWith('+00') || text.charAt(4) !== '-') return parseDate(text).toISOString();
  const milliseconds = text.slice(20, -3).slice(0, 3).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`;
}

/** Creates a pool of connections. The first statement connects. */
export function createPool(options: PoolOptions): Pool {
  const { url, poolSize = 10, applicationName, pooled = false } = options;
  const { statementTimeoutMs = defaultStatementTimeoutMs, distribution = 'none' } = options;
  const nodes = nodesOf(url);
  return new pg.Pool({
    connectionString: nodes[0],
    max: poolSize,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    types: typeParsers,
    pipeline: true,
    ...(nodes.length > 1 && { Client: clientOfNodes(nodes) }),
    ...(!pooled && {
      statement_timeout: statementTimeoutMs,
      options: `-c plan_cache_mode=${planModes[distribution]}`,
    }),
    // pg applies this timeout if Postgres no longer answers. Postgres cancels slow statements
    // earlier.
    query_timeout: statementTimeoutMs === 0 ? 0 : statementTimeoutMs + silenceLimitMs,
    idleTimeoutMillis: idleLimitMs,
    keepAlive: true,
  });
}

/** Registers a gauge of this process's connections to Postgres, which `readCounts` counts. */
export function registerPoolMetrics(
  readCounts: () => { total: number; idle: number; waiting: number },
): void {
  register.registerMetric(
    new Gauge({
      registers: [],
      name: 'podcast_sync_postgres_connections',
      help: 'Connections to Postgres by state; `waiting` are statements that wait for one.',
      labelNames: ['state'],
      collect() {
        for (const [state, count] of Object.entries(readCounts())) this.set({ state }, count);
      },
    }),
  );
}
