import { setImmediate as nextTick } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Failure, maxActions, unavailable } from '#contracts';
import { ActionWriter, type UrlUpdate } from '#gpodder-data';
import { Services } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request-caller.js';
import { DeviceRegistry } from '../devices/device-registry.js';
import { CONFIG, type GpodderConfig, LOG } from '../gpodder.config.js';
import { skippedEntryMetrics } from '../gpodder.metrics.js';
import { checkEntryCount, maxValuesOf, parseJsonBody } from '../http/input.js';

/** The JSON answer to an upload. */
export interface UploadAnswer {
  /** The client's next `since`, in seconds. */
  readonly timestamp: number;
  readonly update_urls: UrlUpdate[];
}

/** Applies uploads of actions (docs/reference/gpodder.md, "Actions in"). */
@Injectable()
export class ActionUploadService {
  private readonly countSkipped = skippedEntryMetrics();

  constructor(
    private readonly services: Services,
    private readonly devices: DeviceRegistry,
    @Inject(CONFIG) private readonly config: GpodderConfig,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * Applies actions in order, in messages of at most {@link maxActions}. If a message fails,
   * earlier messages keep their effect. Uploads are idempotent, so the client can repeat the whole
   * upload.
   *
   * @throws Failure `invalid` for a body that is not an array; TooLarge for too many actions; other
   *   failures of calls.
   */
  async upload(request: FastifyRequest, body: Buffer | undefined): Promise<UploadAnswer> {
    const sentActions = await parseJsonBody(body, maxValuesOf(this.config.MAX_ENTRIES));
    if (!Array.isArray(sentActions)) throw new Failure('invalid');
    checkEntryCount(sentActions.length, this.config.MAX_ENTRIES);
    const { userId, session } = callerOf(request);
    const writer = new ActionWriter(
      (contract, payload) => this.services.call(contract, request, payload),
      { userId, sessionId: session?.sessionId },
    );
    for (let from = 0; from < sentActions.length; from += maxActions) {
      if (request.end?.reached) throw unavailable('the client disconnected');
      const actions = sentActions
        .slice(from, from + maxActions)
        .flatMap((action) => writer.read(action) ?? []);
      if (actions.length > 0) await writer.write(actions);
      // Lets other requests run here, because no call of the service does so.
      else await nextTick();
    }
    const [timestamp] = await Promise.all([
      writer.readTimestamp(),
      this.devices.register(request, writer.devices),
    ]);
    this.reportSkipped(request, writer);
    return { timestamp, update_urls: writer.updates.pairs };
  }

  /** Counts and logs the actions that were skipped, by reason. */
  private reportSkipped({ id }: FastifyRequest, { skipped }: ActionWriter): void {
    if (skipped.size === 0) return;
    for (const [reason, actions] of skipped) this.countSkipped(reason, actions);
    this.log.info(
      { correlationId: id, skipped: Object.fromEntries(skipped) },
      'actions of an upload skipped: unusable or rejected; the other actions are stored',
    );
  }
}
