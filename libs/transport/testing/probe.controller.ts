import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Inject } from '@nestjs/common';
import { Failure, JsonText, type ReplyOf, type RequestOf } from '#contracts';
import { type CallContext, Handle } from '../src/index.js';
import { secretProbe, probe, jsonProbe } from './probe.contracts.js';

/** Records when a replica starts and ends the run of a request. */
export interface Journal {
  readonly replica: string;
  ran(text: string): void;
  ended(text: string): void;
}
export const journalToken = Symbol('journal');

/** The handlers of a replica in tests. */
@Controller()
export class ProbeController {
  constructor(@Inject(journalToken) private readonly journal: Journal) {}

  @Handle(probe)
  async probe(
    { text, takesMs, outcome }: RequestOf<typeof probe>,
    context: CallContext,
  ): Promise<ReplyOf<typeof probe>> {
    this.journal.ran(text);
    if (outcome === 'kill_process') process.kill(process.pid, 'SIGKILL');
    if (takesMs !== undefined) await delay(takesMs);
    this.journal.ended(text);
    if (outcome === 'hang') await new Promise(() => {});
    if (outcome === 'fail') throw new Failure('gone');
    if (outcome === 'throw') throw new Error(`thrown for ${text}`);
    const { requestId, correlationId } = context;
    const reply = {
      text,
      replica: this.journal.replica,
      requestId,
      correlationId,
      remainingMs: context.remainingMs(),
    };
    if (outcome === 'invalid_reply') return { ...reply, text: 7 } as unknown as typeof reply;
    if (outcome === 'unserializable_reply')
      return { ...reply, text: 1n } as unknown as typeof reply;
    return reply;
  }

  @Handle(secretProbe)
  secretProbe({ text }: RequestOf<typeof secretProbe>): ReplyOf<typeof secretProbe> {
    this.journal.ran(text);
    throw Object.assign(new Error(`thrown for ${text}`), { code: '23505', parameters: [text] });
  }

  @Handle(jsonProbe)
  async jsonProbe({ json, as }: RequestOf<typeof jsonProbe>): Promise<ReplyOf<typeof jsonProbe>> {
    const text = JsonText.from(json);
    return as === 'reply' ? text : { items: text, more: true };
  }
}
