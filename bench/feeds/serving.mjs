import { setTimeout as delay } from 'node:timers/promises';
import { quantile } from '../report.mjs';
import { startSystem } from '../running-system.mjs';
import { launch, measure, startLoad } from '../system/measured.mjs';
import { seedUsers } from '../system/seed.mjs';
import { hostOf } from './fetching.mjs';

const size = { users: 50, subscribed: 50, uploaded: 30 };
const [connections, seconds, rounds] = [8, 3, 5];
const uploads = ['POST of 30 new episodes', 'POST of 30 new episodes without titles'];
/** Number of feeds that one user adds while others send requests. */
const takenIn = 10_000;
const atOnce = 500;
const median = (numbers) => quantile(numbers, 0.5);

/** Starts a system with users. Returns `cost`, which measures a case, and `stop`. */
async function openSystem(say, environment) {
  const system = await startSystem(say, { environment });
  const load = await startLoad();
  say(`Seeding ${size.users} users ...`);
  const users = await seedUsers(system, size);
  const cost = (name, length = seconds) =>
    measure(load, system, system, { name, connections, users, seconds: length });
  const stop = () => {
    load.stop();
    return system.stop();
  };
  return { system, users, cost, stop };
}

/** Fills the feeds of all users, as if they had been fetched. */
async function fillFeeds({ owner, baseUrl }, users) {
  const read = ({ token }) =>
    fetch(`${baseUrl}/feeds`, { headers: { authorization: `Bearer ${token}` } });
  for (const user of users) await (await read(user)).text();
  await owner.query(
    `UPDATE feed.feeds SET status = 'ok', title = 'Mind & Matter', author = 'Ann and others',
       description = repeat('About both. ', 40), link = 'https://podcast.example/', language = 'en',
       image_url = 'https://podcast.example/cover.png', latest_publish_date = now(),
       changed = now()`,
  );
  // Feeds of new subscriptions are shown as pending.
  await delay(9_000);
  for (const user of users) {
    const answer = await read(user);
    await answer.text();
    user.etag = answer.headers.get('etag');
  }
}

/**
 * Returns CPU times in ms: of pages of podcasts, and of uploads with FEEDS=pushed and FEEDS=off.
 * The two systems take turns, because the speed of a machine changes.
 */
async function measureRequests(say) {
  const pushed = await openSystem(say, { FEEDS: 'pushed' });
  const off = await openSystem(say, { FEEDS: 'off' });
  await fillFeeds(pushed.system, pushed.users);
  const pages = ['GET /feeds of 50', 'GET /feeds of 50, not modified'];
  const runs = [
    ...uploads.flatMap((name) => [
      [`${name}, FEEDS=off`, off, name],
      [name, pushed, name],
    ]),
    ...pages.map((name) => [name, pushed, name]),
  ];
  const times = {};
  for (let n = 0; n <= rounds; n++)
    for (const [label, { cost }, name] of runs) {
      say(`${label} ...`);
      const { cpu } = await cost(name, n === 0 ? 8 : seconds);
      // The first round warms up.
      if (n > 0) (times[label] ??= []).push(cpu.total / 1_000);
    }
  await Promise.all([pushed.stop(), off.stop()]);
  return Object.fromEntries(Object.entries(times).map(([label, all]) => [label, median(all)]));
}

/** Returns the p99 of other users' requests before and while the feeds of one user are fetched. */
async function measureIntake(say) {
  const publisher = await launch('../feeds/publisher.mjs');
  const environment = { FEEDS: 'fetched', FEEDS_ALLOW: '127.0.0.0/8' };
  const { system, cost, stop } = await openSystem(say, environment);
  try {
    const user = await system.user();
    const urls = Array.from(
      { length: takenIn },
      (_, n) => `http://${hostOf(n)}:${publisher.said.port}/feed`,
    );
    for (let at = 0; at < urls.length; at += atOnce) {
      const subscriptions = urls.slice(at, at + atOnce).map((feed_url) => ({ feed_url }));
      await system.call(user, 'POST', '/subscriptions', 200, { subscriptions });
    }
    const name = 'POST of 30 positions';
    await cost(name, 8);
    const before = (await cost(name, 10)).p99;
    for (let path = '/feeds?per_page=100'; path !== undefined;) {
      const { next } = await system.call(user, 'GET', path, 200);
      path = next && `/feeds${new URL(next).search}`;
    }
    say(`Fetching ${takenIn} feeds ...`);
    const during = (await cost(name, 10)).p99;
    const { rows } = await system.owner.query(
      `SELECT count(*) FILTER (WHERE fetched_at IS NOT NULL)::int AS fetched, max(fault) AS fault
       FROM feed.fetches`,
    );
    const [{ fetched, fault }] = rows;
    if (fetched === 0 || fault !== null) throw new Error(`${fetched} feeds fetched; ${fault}`);
    say(`${fetched} feeds were fetched during the measurement.`);
    return { before, during };
  } finally {
    publisher.stop();
    await stop();
  }
}

/** Measures requests of a system with feeds. Returns rows of the report. */
export async function measureServing(say) {
  const times = await measureRequests(say);
  const { before, during } = await measureIntake(say);
  const ratio = (name) => times[name] / times[`${name}, FEEDS=off`];
  return [
    ['ms of CPU time, GET /feeds of 50', times['GET /feeds of 50'], { atMost: 1.2 }],
    ['ms of CPU time, not modified', times['GET /feeds of 50, not modified'], { atMost: 0.6 }],
    [
      'cost of an upload of new episodes without titles, to FEEDS=off',
      ratio(uploads[1]),
      { atMost: 1.05 },
    ],
    ['the same with titles', ratio(uploads[0]), { atMost: 1.01 }],
    [
      `p99 of other users while ${takenIn} feeds are fetched, to before`,
      during / before,
      { atMost: 1.2 },
    ],
  ];
}
