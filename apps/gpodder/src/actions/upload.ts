import { setImmediate as nextTick } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Failure, mostActions, unavailable } from '#contracts';
import { Services } from '#http';
import type { Log } from '#runtime';
import { skippedEntryMetrics } from '../gpodder.metrics.js';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request.caller.js';
import { KnownDevices } from '../devices/known.devices.js';
import { CONFIG, type GpodderConfig, LOG } from '../gpodder.config.js';
import { jsonOf, limitEntries } from '../http/input.js';
import { ActionWriter } from './action.writer.js';
import type { UrlUpdate } from './url.repair.js';

/** The answer to an upload. */
export interface UploadAnswer {
  readonly timestamp: number;
  readonly update_urls: UrlUpdate[];
}

/** Uploads of actions (docs/reference/gpodder.md, "Actions in"). */
@Injectable()
export class Uploads {
  private readonly count = skippedEntryMetrics();

  constructor(
    private readonly services: Services,
    private readonly devices: KnownDevices,
    @Inject(CONFIG) private readonly config: GpodderConfig,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * Applies actions in order, in messages of limited size. If one fails, earlier ones keep their
   * effect. The client repeats all of them, which is idempotent.
   *
   * @throws Failure `invalid` for a body that is no array; TooLarge for too many actions; other
   *   failures of calls.
   */
  async answer(request: FastifyRequest, body: Buffer | undefined): Promise<UploadAnswer> {
    const sent = await jsonOf(body, this.config.MAX_ENTRIES);
    if (!Array.isArray(sent)) throw new Failure('invalid');
    limitEntries(sent.length, this.config.MAX_ENTRIES);
    const { userId, session } = callerOf(request);
    const writer = new ActionWriter(
      (contract, payload) => this.services.call(contract, request, payload),
      {
        userId,
        sessionId: session?.sessionId,
      },
    );
    for (let from = 0; from < sent.length; from += mostActions) {
      if (request.end?.reached) throw unavailable('the caller went away');
      const actions = sent
        .slice(from, from + mostActions)
        .flatMap((action) => writer.read(action) ?? []);
      if (actions.length > 0) await writer.write(actions);
      // Lets other requests run, also without a call to wait for.
      else await nextTick();
    }
    const [timestamp] = await Promise.all([
      writer.ask(),
      this.devices.use(request, writer.devices),
    ]);
    this.report(request, writer);
    return { timestamp, update_urls: writer.updates.pairs };
  }

  private report({ id }: FastifyRequest, { skipped }: ActionWriter): void {
    if (skipped.size === 0) return;
    for (const [reason, actions] of skipped) this.count(reason, actions);
    this.log.info({ requestId: id, skipped: Object.fromEntries(skipped) }, 'actions were skipped');
  }
}
