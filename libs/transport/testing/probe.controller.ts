import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, MessagePattern, Payload, RpcException } from '@nestjs/microservices';
import { Observable, of } from 'rxjs';
import { Failure, type ReplyOf, type RequestOf } from '#contracts';
import { CallContext, Handle } from '../src/index.js';
import { probe } from './probe.contracts.js';

/** What a replica tells the test about its runs. */
export interface Journal {
  readonly replica: string;
  readonly runs: string[];
  readonly events: unknown[];
}
export const journalToken = Symbol('journal');

/** The handlers of a test's replica: one of a contract, and ordinary ones of Nest. */
@Controller()
export class ProbeController {
  constructor(@Inject(journalToken) private readonly journal: Journal) {}

  @Handle(probe)
  async probe(
    @Payload() { text, takesMs, then }: RequestOf<typeof probe>,
    @Ctx() context: CallContext,
  ): Promise<ReplyOf<typeof probe>> {
    this.journal.runs.push(text);
    if (then === 'die') process.kill(process.pid, 'SIGKILL');
    if (takesMs !== undefined) await delay(takesMs);
    if (then === 'hang') await new Promise(() => {});
    if (then === 'fail') throw new Failure('conflict', { pattern: probe.pattern, answer: { text } });
    if (then === 'throw') throw new Error(`thrown for ${text}`);
    const { requestId, traceparent } = context;
    const reply = { text, replica: this.journal.replica, requestId, traceparent, remainingMs: context.remainingMs() };
    return then === 'lie' ? ({ ...reply, text: 7 } as unknown as typeof reply) : reply;
  }

  @MessagePattern('episode.plain')
  plain(@Payload() words: string[]): Observable<string> {
    if (words.length === 0) throw new RpcException('no words');
    return of(...words);
  }

  @EventPattern('episode.seen')
  seen(@Payload() event: unknown): void {
    this.journal.events.push(event);
  }
}
