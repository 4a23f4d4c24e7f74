import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '#contracts';
import type { StreamClient } from '../src/index.js';
import { probe } from './probe.contracts.js';

/** Result of one call. */
export interface CallResult {
  readonly text: string;
  /** `answered` and `wrong reply` for replies, else the failure's code. */
  readonly end: 'answered' | 'wrong reply' | Failure['code'];
  /** Start of the call, by `performance.now()`. */
  readonly started: number;
  readonly tookMs: number;
}

export interface RepeatedCallsOptions {
  /** Number of concurrent callers; each starts its next call after the result of the last one. */
  readonly callers: number;
  /** Duration of the handler in milliseconds. Default: it answers immediately. */
  readonly takesMs?: number;
  /** Time limit of a call in milliseconds. Default: that of the contract. */
  readonly timeLimitMs?: number;
}

/** Makes one call and returns its result. */
export async function callOnce(
  client: StreamClient,
  text: string,
  {
    timeLimitMs,
    ...request
  }: { takesMs?: number; timeLimitMs?: number; outcome?: 'kill_process' | 'hang' } = {},
): Promise<CallResult> {
  const started = performance.now();
  // Uses another request id than the text, because dead letters contain the id but no payload.
  const options = { requestId: randomUUID(), timeLimitMs };
  const end = await client.call(probe, { text, ...request }, options).then(
    (reply) => (reply.text === text ? ('answered' as const) : ('wrong reply' as const)),
    (error: unknown) => {
      if (error instanceof Failure) return error.code;
      throw error;
    },
  );
  return { text, end, started, tookMs: performance.now() - started };
}

/** Callers that repeat calls until they are stopped, with a pause only after a failure. */
export class RepeatedCalls {
  readonly outcomes: CallResult[] = [];
  private readonly callers: Promise<void>[];
  private stopped = false;

  constructor(
    private readonly client: StreamClient,
    private readonly options: RepeatedCallsOptions,
  ) {
    this.callers = Array.from({ length: options.callers }, (_, caller) => this.run(caller));
  }

  get answered(): number {
    return this.outcomes.filter(({ end }) => end === 'answered').length;
  }

  /** Calls without a correct reply. */
  get failed(): CallResult[] {
    return this.outcomes.filter(({ end }) => end !== 'answered');
  }

  /** Lets the callers continue for a time. */
  continueFor(ms: number): Promise<void> {
    return delay(ms);
  }

  /** Starts no more calls; resolves when the running calls have ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.callers);
  }

  private async run(caller: number): Promise<void> {
    const { callers: _, ...request } = this.options;
    for (let round = 0; !this.stopped; round += 1) {
      const outcome = await callOnce(this.client, `${caller}.${round}`, request);
      this.outcomes.push(outcome);
      // Pauses after a failure: calls without a replica fail immediately, so retries would use CPU.
      if (outcome.end !== 'answered') await delay(20);
    }
  }
}
