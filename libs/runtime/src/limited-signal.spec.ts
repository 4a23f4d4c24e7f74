import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createLimitedSignal } from './limited-signal.js';

/** Waits for the abort of a signal, and returns its reason; undefined after a second. */
function reasonOf(signal: AbortSignal): Promise<unknown> {
  return Promise.race([
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason))),
    delay(1_000),
  ]);
}

it('aborts after the time limit, also after a garbage collection', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const { signal } = createLimitedSignal(100, [new AbortController().signal]);
  const reason = reasonOf(signal);
  // In a later iteration: a signal is not collected in the one that creates it.
  await delay(20);
  collectGarbage();
  expect(await reason).toMatchObject({ name: 'TimeoutError' });
});

it('aborts with the reason of a source', async () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const { signal, release } = createLimitedSignal(60_000, [one.signal, other.signal]);
  other.abort('stopped');
  one.abort('later');
  expect(signal.reason).toBe('stopped');
  release();
  const late = createLimitedSignal(60_000, [other.signal]);
  expect(late.signal.reason).toBe('stopped');
  late.release();
});

it('neither aborts nor holds a listener after its release', async () => {
  const source = new AbortController();
  const { signal, release } = createLimitedSignal(10, [source.signal]);
  expect(getEventListeners(source.signal, 'abort')).toHaveLength(1);
  release();
  expect(getEventListeners(source.signal, 'abort')).toHaveLength(0);
  source.abort();
  await delay(20);
  expect(signal.aborted).toBe(false);
});
