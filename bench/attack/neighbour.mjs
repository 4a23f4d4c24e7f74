// Polls both lists in turn as one user, with a request every 20 ms whether or not the previous one
// was answered. A separate process, so that its times do not include the attacker's load.
// Receives { baseUrl, token } and later 'stop', which it answers with { latencies, failures }.
import { Agent, request } from 'node:http';

const [everyMs, limitMs] = [20, 6_000];
const paths = ['/episodes', '/subscriptions'];
const agent = new Agent({ keepAlive: true });

let timer;
let polls = [];

process.on('message', async (message) => {
  if (message !== 'stop') return begin(message);
  clearInterval(timer);
  const outcomes = await Promise.all(polls);
  polls = [];
  process.send({
    latencies: outcomes.map(({ ms }) => ms),
    failures: outcomes.flatMap(({ failure }) => failure ?? []),
  });
});

// Ends with its parent.
process.on('disconnect', () => process.exit());

function begin({ baseUrl, token }) {
  timer = setInterval(() => {
    const path = paths[polls.length % paths.length];
    polls.push(poll(baseUrl + path, { authorization: `Bearer ${token}` }));
  }, everyMs);
}

function poll(url, headers) {
  const start = performance.now();
  return new Promise((resolve) => {
    const settle = (failure) => resolve({ ms: performance.now() - start, failure });
    const asked = request(url, { agent, headers, timeout: limitMs }, (answer) => {
      answer.resume();
      answer.once('end', () =>
        settle(answer.statusCode === 200 ? undefined : String(answer.statusCode)),
      );
      answer.once('error', (error) => settle(error.code));
    });
    asked.once('timeout', () => asked.destroy());
    asked.once('error', (error) => settle(error.code ?? error.message));
    asked.end();
  });
}
