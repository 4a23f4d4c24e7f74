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
  /** Time of the start (`performance.now()`). */
  readonly started: number;
  readonly tookMs: number;
}

export interface RepeatedCallsOptions {
  /** Number of concurrent callers; each repeats its call after the answer. */
  readonly callers: number;
  readonly takesMs?: number;
  readonly budgetMs?: number;
}

/** Makes one call. @returns its result. */
export async function ask(
  client: StreamClient,
  text: string,
  { budgetMs, ...request }: { takesMs?: number; budgetMs?: number; outcome?: 'die' | 'hang' } = {},
): Promise<CallResult> {
  const started = performance.now();
  // The id differs from the text: dead letters contain the request id, but not the payload.
  const options = { requestId: randomUUID(), budgetMs };
  const end = await client.call(probe, { text, ...request }, options).then(
    (reply) => (reply.text === text ? ('answered' as const) : ('wrong reply' as const)),
    (error: unknown) => {
      if (error instanceof Failure) return error.code;
      throw error;
    },
  );
  return { text, end, started, tookMs: performance.now() - started };
}

/** Callers that repeat calls without a pause until they are stopped. */
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

  /** Continues for a time under load. It waits for no condition. */
  continueFor(ms: number): Promise<void> {
    return delay(ms);
  }

  /** Starts no more calls; resolves after the running ones. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.callers);
  }

  private async run(caller: number): Promise<void> {
    const { callers: _, ...request } = this.options;
    for (let round = 0; !this.stopped; round += 1) {
      const outcome = await ask(this.client, `${caller}.${round}`, request);
      this.outcomes.push(outcome);
      // Calls are refused immediately: a retry without a pause would only use CPU.
      if (outcome.end !== 'answered') await delay(20);
    }
  }
}
