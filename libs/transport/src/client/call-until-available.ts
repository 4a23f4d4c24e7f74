import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure, type ReplyOf, type RequestOf, type Rpc } from '#contracts';
import type { StreamClient } from './stream-client.js';

/** First and longest pause between attempts, in ms. Pauses double, and vary by 25 %. */
const [firstPauseMs, maxPauseMs] = [100, 5_000];

/**
 * Calls a service until it answers something other than `unavailable`. All attempts have one
 * request id, so a write takes effect once.
 *
 * @param options `onUnavailable` is called before each pause.
 * @throws Failure with another code; AbortError, or the reason of `stopped`, after an abort.
 */
export async function callUntilAvailable<C extends Rpc>(
  client: StreamClient,
  contract: C,
  request: RequestOf<C>,
  { stopped, onUnavailable }: { stopped: AbortSignal; onUnavailable?: () => void },
): Promise<ReplyOf<C>> {
  const requestId = randomUUID();
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    stopped.throwIfAborted();
    try {
      return await client.call(contract, request, { requestId });
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unavailable') throw error;
    }
    onUnavailable?.();
    await delay(pauseMs * (0.75 + Math.random() / 2), undefined, { signal: stopped });
  }
}
