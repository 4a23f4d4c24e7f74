import { Inject, Injectable } from '@nestjs/common';
import { Failure, saveDevices } from '#contracts';
import { Services } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { callerOf } from '../auth/request.caller.js';
import { LOG } from '../gpodder.config.js';

const mostSaved = 100;

/**
 * Creates devices at their first use, because clients of other servers use ids that were never
 * described here. Caches saved devices, so that a poll needs no further call.
 */
@Injectable()
export class KnownDevices {
  /** Devices saved within the last hour. The service stores their use once a day. */
  private readonly saved = new LRUCache<string, true>({ max: 20_000, ttl: 3_600_000 });

  constructor(
    private readonly services: Services,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * Saves the devices of a request. Never throws a Failure, because requests do not depend on
   * devices. Clients with read permission create none, so that they evict none of the user's
   * devices.
   */
  async use(request: FastifyRequest, ids: Iterable<string>): Promise<void> {
    const { userId, scopes } = callerOf(request);
    if (!scopes.includes('write:subscriptions')) return;
    const fresh = [...new Set(ids)]
      .filter((id) => !this.saved.has(keyOf(userId, id)))
      .slice(0, mostSaved);
    if (fresh.length === 0) return;
    try {
      await this.services.call(saveDevices, request, {
        userId,
        devices: fresh.map((id) => ({ id })),
      });
      for (const id of fresh) this.saved.set(keyOf(userId, id), true);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.log.debug({ err: error, requestId: request.id }, 'devices were not made known');
    }
  }
}

function keyOf(userId: string, id: string): string {
  return `${userId} ${id}`;
}
