// A separate process that sends the load: it receives jobs as messages and returns measurements.
import { setTimeout as delay } from 'node:timers/promises';
import autocannon from 'autocannon';
import { feedCases } from '../feeds/cases.mjs';
import { quantile } from '../report.mjs';
import { cases, deletion } from './cases.mjs';

const pollMs = 10;
const all = { ...cases, ...feedCases };

/** Keeps a request in flight on each connection, for all users in turn. */
async function load({ url, name, users, connections, seconds }) {
  let next = 0;
  const setupRequest = (request) => {
    const user = users[next++ % users.length];
    const { headers: own, ...sent } = all[name](user);
    const headers = { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' };
    return { ...request, ...sent, headers: { ...headers, ...own } };
  };
  const run = autocannon({ url, connections, duration: seconds, requests: [{ setupRequest }] });
  const took = [];
  let started;
  let ended = Number.NaN;
  run.on('response', (_client, _status, _bytes, milliseconds) => {
    took.push(milliseconds);
    ended = performance.now();
    started ??= ended - milliseconds;
  });
  const { errors, timeouts, non2xx } = await run;
  // From the first request to the last response: autocannon's duration includes its start and end.
  return { took, errors: errors + timeouts + non2xx, seconds: (ended - started) / 1_000 };
}

/** Keeps a deletion in progress on each connection. */
async function loadDeletions({ url, users, connections, seconds }) {
  const queue = users.flatMap(({ token, guids }) => guids.map((guid) => ({ token, guid })));
  queue.sort((one, other) => (one.guid < other.guid ? -1 : 1));
  const took = [];
  let errors = 0;
  const started = performance.now();
  const client = async () => {
    while (performance.now() < started + seconds * 1_000) {
      const next = queue.pop();
      if (!next) throw new Error('not enough subscriptions to delete');
      const sentAt = performance.now();
      if (await deleted(url, next)) took.push(performance.now() - sentAt);
      else errors += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  return { took, errors, seconds: (performance.now() - started) / 1_000 };
}

async function deleted(url, { token, guid }) {
  const ask = async (method, path) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    return response.json();
  };
  const { deletion_id: id } = await ask('DELETE', `/subscriptions/${guid}`);
  for (;;) {
    const { status } = await ask('GET', `/deletions/${id}`);
    if (status !== 'PENDING') return status === 'SUCCESS';
    await delay(pollMs);
  }
}

process.on('disconnect', () => process.exit(0));
process.on('message', (job) => {
  void (job.name === deletion ? loadDeletions(job) : load(job)).then(({ took, errors, seconds }) =>
    process.send({
      requests: took.length,
      seconds,
      errors,
      p50: quantile(took, 0.5),
      p99: quantile(took, 0.99),
    }),
  );
});
process.send('ready');
