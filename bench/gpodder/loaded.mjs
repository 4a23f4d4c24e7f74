import autocannon from 'autocannon';

/** Keeps requests of all listeners in flight, by turns: how many were answered in a second, and how many with an error. */
export async function loaded(listeners, { request, inFlight, seconds }) {
  let next = 0;
  const made = () => request(listeners[next++ % listeners.length]);
  const { url } = made();
  const setupRequest = (each) => ({ ...each, ...made() });
  const run = autocannon({ url, connections: inFlight, duration: seconds, requests: [{ setupRequest }] });
  let [answers, ended, started] = [0, Number.NaN, undefined];
  run.on('response', (_client, _status, _bytes, milliseconds) => {
    answers += 1;
    ended = performance.now();
    started ??= ended - milliseconds;
  });
  const { errors, timeouts, non2xx } = await run;
  return { rate: answers / ((ended - started) / 1_000), errors: errors + timeouts + non2xx };
}
