import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '#contracts';
import type { StreamClient } from '../src/index.js';
import { probe } from './probe.contracts.js';

/** How one call of a load ended. */
export interface Outcome {
  readonly text: string;
  /** What was answered, or the failure's code. */
  readonly end: 'answered' | 'wrong reply' | Failure['code'];
  /** By the clock of performance.now(). */
  readonly started: number;
  readonly tookMs: number;
}

export interface LoadOptions {
  /** How many callers ask at the same time, each again as soon as it was answered. */
  readonly callers: number;
  readonly takesMs?: number;
  readonly budgetMs?: number;
}

/** Asks once. @returns how it ended. */
export async function ask(
  client: StreamClient,
  text: string,
  { budgetMs, ...request }: { takesMs?: number; budgetMs?: number; outcome?: 'die' | 'hang' } = {},
): Promise<Outcome> {
  const started = performance.now();
  const end = await client.call(probe, { text, ...request }, { requestId: text, budgetMs }).then(
    (reply) => (reply.text === text ? ('answered' as const) : ('wrong reply' as const)),
    (error: unknown) => {
      if (error instanceof Failure) return error.code;
      throw error;
    },
  );
  return { text, end, started, tookMs: performance.now() - started };
}

/** Callers that ask without a pause until they are stopped. */
export class Load {
  readonly outcomes: Outcome[] = [];
  private readonly callers: Promise<void>[];
  private stopped = false;

  constructor(
    private readonly client: StreamClient,
    private readonly options: LoadOptions,
  ) {
    this.callers = Array.from({ length: options.callers }, (_, caller) => this.run(caller));
  }

  get answered(): number {
    return this.outcomes.filter(({ end }) => end === 'answered').length;
  }

  /** Those that were not answered. */
  get failed(): Outcome[] {
    return this.outcomes.filter(({ end }) => end !== 'answered');
  }

  /** Goes on for a while: time passes under load, nothing is waited for. */
  goOn(ms: number): Promise<void> {
    return delay(ms);
  }

  /** Lets the calls that wait end, and resolves then. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.callers);
  }

  private async run(caller: number): Promise<void> {
    const { callers: _, ...request } = this.options;
    for (let round = 0; !this.stopped; round += 1) {
      const outcome = await ask(this.client, `${caller}.${round}`, request);
      this.outcomes.push(outcome);
      // A call is refused at once: a caller that tried again without a pause would only burn CPU.
      if (outcome.end !== 'answered') await delay(20);
    }
  }
}
