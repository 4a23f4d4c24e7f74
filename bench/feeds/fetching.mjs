import { hash } from 'node:crypto';
import { launch } from '../system/measured.mjs';
import { cpuTimes } from '../system/cpu.mjs';

/** Number of feeds with hosts of their own, and of feeds of one host. */
const [ownHosts, oneHost] = [2_000, 10_000];
/** Number of feeds that the one host must not delay. */
const others = 100;

/** Returns a host of loopback. */
export const hostOf = (n) => `127.${1 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;

/** Inserts feeds that are not due. */
async function insertFeeds(owner, urls) {
  const rows = urls.map((url) => ({
    key: hash('sha256', url),
    url,
    lane: new URL(url).hostname,
  }));
  await owner.query(
    `WITH sent AS (SELECT * FROM json_to_recordset($1) s (key text, url text, lane text)),
     feeds AS (
       INSERT INTO feed.feeds (url_sha256, url, last_read_at)
       SELECT decode(key, 'hex'), url, now() FROM sent
     )
     INSERT INTO feed.fetches (url_sha256, lane, next_at)
     SELECT decode(key, 'hex'), lane, 'infinity' FROM sent`,
    [JSON.stringify(rows)],
  );
}

/** Makes feeds due, the feeds before their lanes. */
async function makeDue(owner, condition) {
  await owner.query(`UPDATE feed.fetches SET next_at = now() WHERE ${condition}`);
  await owner.query(
    `INSERT INTO feed.lanes (lane, next_at)
     SELECT DISTINCT lane, now() FROM feed.fetches WHERE ${condition}
     ON CONFLICT (lane) DO UPDATE SET next_at = now(), busy_until = '-infinity'`,
  );
}

async function bytesOfFeeds(owner) {
  await owner.query('VACUUM FULL feed.feeds, feed.fetches');
  const { rows } = await owner.query(
    `SELECT (pg_total_relation_size('feed.feeds') + pg_total_relation_size('feed.fetches'))::float8
       AS bytes`,
  );
  return rows[0].bytes;
}

/**
 * Measures one process that fetches and stores feeds of a server on loopback.
 *
 * @returns rows of the report.
 */
export async function measureFetching({ owner, postgresUrl, postgresPid }, say) {
  const publisher = await launch('../feeds/publisher.mjs');
  const { port } = publisher.said;
  const open = () => launch('../feeds/fetcher.mjs', { DATABASE_URL: postgresUrl });
  const own = Array.from({ length: ownHosts }, (_, n) => `http://${hostOf(n)}:${port}/feed`);
  await insertFeeds(owner, own);
  let fetcher = await open();
  const run = async (answer, condition = 'true') => {
    say(`Fetching feeds: ${answer} ...`);
    await publisher.ask(answer);
    const before = cpuTimes([postgresPid]).total;
    await makeDue(owner, condition);
    const cost = await fetcher.ask(condition);
    const { rows } = await owner.query(
      `SELECT count(*)::int AS failed FROM feed.fetches WHERE fault IS NOT NULL AND ${condition}`,
    );
    if (rows[0].failed > 0) throw new Error(`${rows[0].failed} fetches failed`);
    return { ...cost, postgresMs: (cpuTimes([postgresPid]).total - before) / 1_000 };
  };
  const rate = (what, { cpuSeconds, postgresMs }, atLeast) => [
    `${what}, a second of CPU time (Postgres: ${(postgresMs / ownHosts).toFixed(2)} ms each more)`,
    ownHosts / cpuSeconds,
    { atLeast },
  ];
  await run('changed');
  const changed = await run('changed');
  const unchanged = await run('unchanged');
  const all = await bytesOfFeeds(owner);
  await owner.query(`UPDATE feed.feeds SET episodes = '[]'`);
  const bare = await bytesOfFeeds(owner);
  fetcher.stop();
  await owner.query('TRUNCATE feed.feeds, feed.fetches, feed.lanes CASCADE');

  await insertFeeds(owner, own.slice(0, 64));
  fetcher = await open();
  const large = await run('large');
  await owner.query('TRUNCATE feed.feeds, feed.fetches, feed.lanes CASCADE');

  const many = Array.from({ length: oneHost }, (_, n) => `http://127.0.0.1:${port}/feed?${n}`);
  await insertFeeds(owner, [...many, ...own.slice(0, others)]);
  const isOther = `lane <> '127.0.0.1'`;
  await publisher.ask('changed');
  await makeDue(owner, `NOT (${isOther})`);
  const due = await owner.query('SELECT now() AS time');
  await run('changed', isOther);
  const { rows } = await owner.query(
    `SELECT extract(epoch FROM max(fetched_at) - $1)::float8 AS late FROM feed.fetches
     WHERE ${isOther}`,
    [due.rows[0].time],
  );
  fetcher.stop();
  publisher.stop();
  return [
    rate('feeds not modified', unchanged, 1_500),
    rate('changed feeds of 250 kB, stored', changed, 220),
    ['bytes of a feed', bare / ownHosts, { atMost: 1_300 }],
    ['bytes of an item', (all - bare) / ownHosts / 40, { atMost: 650 }],
    ['MB of memory, 64 bodies of 20 MB in flight', large.peakMemory, { atMost: 150 }],
    ['ms of the longest stall, 250 kB', changed.stallMs, { atMost: 50 }],
    ['ms of the longest stall, 20 MB', large.stallMs, { atMost: 50 }],
    [
      `s until ${others} feeds are fetched, next to ${oneHost} of one host`,
      rows[0].late,
      { atMost: 2 },
    ],
  ];
}
