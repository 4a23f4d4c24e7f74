import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, MessagePattern, Payload, RpcException } from '@nestjs/microservices';
import { Observable, of } from 'rxjs';
import { Failure, JsonText, type ReplyOf, type RequestOf } from '#contracts';
import { CallContext, Handle } from '../src/index.js';
import { confide, probe, quote } from './probe.contracts.js';

/** Where a replica writes down what it does; a run is written down directly before it begins. */
export interface Journal {
  readonly replica: string;
  ran(text: string): void;
  ended(text: string): void;
  received(event: unknown): void;
}
export const journalToken = Symbol('journal');

/** The handlers of a test's replica: those of contracts, and ordinary ones of Nest. */
@Controller()
export class ProbeController {
  constructor(@Inject(journalToken) private readonly journal: Journal) {}

  @Handle(probe)
  async probe(
    @Payload() { text, takesMs, outcome }: RequestOf<typeof probe>,
    @Ctx() context: CallContext,
  ): Promise<ReplyOf<typeof probe>> {
    this.journal.ran(text);
    if (outcome === 'die') process.kill(process.pid, 'SIGKILL');
    if (takesMs !== undefined) await delay(takesMs);
    this.journal.ended(text);
    if (outcome === 'hang') await new Promise(() => {});
    if (outcome === 'fail') throw new Failure('gone');
    if (outcome === 'throw') throw new Error(`thrown for ${text}`);
    const { requestId, correlationId } = context;
    const reply = { text, replica: this.journal.replica, requestId, correlationId, remainingMs: context.remainingMs() };
    return outcome === 'lie' ? ({ ...reply, text: 7 } as unknown as typeof reply) : reply;
  }

  @Handle(confide)
  confide(@Payload() { text }: RequestOf<typeof confide>): ReplyOf<typeof confide> {
    this.journal.ran(text);
    throw Object.assign(new Error(`thrown for ${text}`), { code: '23505', parameters: [text] });
  }

  @Handle(quote)
  async quote(@Payload() { json, as }: RequestOf<typeof quote>): Promise<ReplyOf<typeof quote>> {
    const text = JsonText.from(json);
    return as === 'reply' ? text : { items: text, more: true };
  }

  @MessagePattern('episode.plain')
  plain(@Payload() words: string[]): Observable<string> {
    if (words.length === 0) throw new RpcException('no words');
    return of(...words);
  }

  @MessagePattern('episode.unspeakable')
  unspeakable(): bigint {
    return 1n;
  }

  @EventPattern('episode.seen')
  seen(@Payload() event: unknown): void {
    this.journal.received(event);
  }
}
