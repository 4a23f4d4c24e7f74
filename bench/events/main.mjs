// What it costs Postgres to remember, with a write and until it is announced, that a user's data has changed: `npm run
// bench:events`, with `-- --writes 20000` for how many writes, and `-- --every 50` for how many of them become a batch.
// Needs Linux, whose /proc says what the connection's process used.
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { removePostgres, startPostgres } from '#embedded';
import pg from 'pg';
import { circumstances, quantile, say, table } from '../report.mjs';

const { values: options } = parseArgs({
  options: {
    writes: { type: 'string', default: '20000' },
    every: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '5' },
  },
});
const [writes, every, rounds] = [options.writes, options.every, options.rounds].map(Number);
const users = 1_000;

const clock = (more = '') => `
  DROP TABLE IF EXISTS clock, outbox;
  CREATE TABLE clock (user_id uuid PRIMARY KEY, stamp timestamptz(3) NOT NULL${more}) WITH (fillfactor = 70);
  INSERT INTO clock (user_id, stamp) SELECT md5(n::text)::uuid, now() FROM generate_series(1, ${users}) n;`;
const advance = (set = '') =>
  `UPDATE clock SET stamp = greatest(clock_timestamp(), stamp + interval '1 ms')${set} WHERE user_id = $1`;

/** Each way: its tables, the statements of a write, and what a relay does. */
const ways = {
  'no events': { tables: clock(), write: [advance()] },
  'a row in an outbox': {
    tables: `${clock()} CREATE TABLE outbox (user_id uuid NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), kinds smallint NOT NULL);`,
    write: [advance(), 'INSERT INTO outbox (user_id, kinds) SELECT $1, 2'],
    relay: `WITH taken AS (
        DELETE FROM outbox WHERE ctid = ANY (ARRAY(SELECT ctid FROM outbox LIMIT 5000)) RETURNING user_id, kinds
      )
      SELECT t.user_id, c.stamp, t.kinds FROM (SELECT user_id, bit_or(kinds) AS kinds FROM taken GROUP BY 1) t
      JOIN clock c USING (user_id)`,
  },
  "a column of the clock's row, with a partial index": {
    tables: `${clock(', unannounced smallint NOT NULL DEFAULT 0')}
      CREATE INDEX unannounced ON clock (user_id) WHERE unannounced <> 0;`,
    write: [advance(', unannounced = unannounced | 2::smallint')],
    relay: `UPDATE clock c SET unannounced = 0 FROM (
        SELECT user_id, unannounced FROM clock WHERE unannounced <> 0 LIMIT 5000 FOR UPDATE
      ) t WHERE c.user_id = t.user_id RETURNING c.user_id, c.stamp, t.unannounced`,
  },
};

const root = mkdtempSync(join(tmpdir(), 'podcast-sync-bench-'));
chmodSync(root, 0o711);
const postgres = await startPostgres({ directory: join(root, 'postgres'), database: 'bench', progress: say });
const owner = new pg.Client({ connectionString: postgres.url });
await owner.connect();

/** Microseconds of CPU that the process of the connection has used. */
async function used() {
  const { rows } = await owner.query('SELECT pg_backend_pid() AS pid');
  const fields = readFileSync(`/proc/${rows[0].pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

async function logged() {
  const { rows } = await owner.query("SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes");
  return rows[0].bytes;
}

/** Writes and announces. @returns what a write took of the process and of the log. */
async function measure(prefix, { tables, write, relay }) {
  await owner.query(tables);
  // After a checkpoint the first change of a page logs all of it: that is over before it counts.
  for (const statement of ['VACUUM ANALYZE', 'CHECKPOINT']) await owner.query(statement);
  const run = async (count) => {
    for (let n = 0; n < count; n += 1) {
      const user = createHash('md5')
        .update(`${1 + Math.floor(Math.random() * users)}`)
        .digest('hex');
      await owner.query('BEGIN');
      for (const [step, text] of write.entries())
        await owner.query({ name: `${prefix} ${step}`, text, values: [user] });
      await owner.query('COMMIT');
      if (relay && n % every === every - 1) await owner.query({ name: `${prefix} relay`, text: relay });
    }
  };
  await run(2 * users);
  const before = [await used(), await logged()];
  await run(writes);
  const after = [await used(), await logged()];
  return after.map((value, n) => (value - before[n]) / writes);
}

try {
  await owner.query('SET synchronous_commit = off; SET jit = off');
  const found = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [name, way] of Object.entries(ways)) {
      found[name].push(await measure(`${round} ${name}`, way));
      say(
        `${round + 1} of ${rounds}: ${name}: ${found[name].at(-1).map(Math.round).join(' µs of CPU, ')} bytes of WAL`,
      );
    }
  const median = (name, n) =>
    quantile(
      found[name].map((each) => each[n]),
      0.5,
    );
  const more = (name, n) => (median(name, n) - median('no events', n)).toFixed(0);
  console.log(
    `${await circumstances(owner, ['pg'])}${rounds} rounds of ${writes} writes, announced ${every} at a time\n`,
  );
  console.log(
    table(
      ['what a write takes more', 'CPU µs', 'WAL bytes'],
      Object.keys(ways).map((name) => [name, more(name, 0), more(name, 1)]),
    ),
  );
} finally {
  await owner.end();
  await postgres.stop();
  await removePostgres(join(root, 'postgres'));
  rmSync(root, { recursive: true, force: true });
}
