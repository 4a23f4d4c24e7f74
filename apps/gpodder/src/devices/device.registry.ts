import { Inject, Injectable } from '@nestjs/common';
import { Failure, saveDevices } from '#contracts';
import { Services } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { callerOf } from '../auth/request.caller.js';
import { LOG } from '../gpodder.config.js';

/** Maximum devices that one request saves. */
const maxSaved = 100;

/**
 * Saves devices at their first use, because clients keep device ids that they registered on another
 * server. Caches saved devices for an hour, so that a poll needs no call to the account service.
 */
@Injectable()
export class DeviceRegistry {
  /** Keys `<app password id> <device id>` of the devices saved within the last hour. */
  private readonly saved = new LRUCache<string, true>({ max: 20_000, ttl: 3_600_000 });

  constructor(
    private readonly services: Services,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * Saves at most 100 uncached devices of a request. Logs a Failure instead of throwing it, because
   * requests do not depend on devices. A read-only client saves no device, because a new device can
   * evict another device of the user.
   */
  async register(request: FastifyRequest, ids: Iterable<string>): Promise<void> {
    const { userId, credentialId, scopes } = callerOf(request);
    if (!scopes.includes('write:subscriptions')) return;
    const unsaved = [...new Set(ids)]
      .filter((id) => !this.saved.has(keyOf(credentialId, id)))
      .slice(0, maxSaved);
    if (unsaved.length === 0) return;
    try {
      await this.services.call(saveDevices, request, {
        userId,
        credentialId,
        devices: unsaved.map((id) => ({ id })),
      });
      for (const id of unsaved) this.saved.set(keyOf(credentialId, id), true);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.log.debug({ err: error, correlationId: request.id }, 'devices not saved');
    }
  }
}

function keyOf(credentialId: string, id: string): string {
  return `${credentialId} ${id}`;
}
