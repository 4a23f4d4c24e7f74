import { Inject, Injectable } from '@nestjs/common';
import { Failure, saveDevices } from '#contracts';
import { Services } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { callerOf } from '../auth/request-caller.js';
import { LOG } from '../gpodder.config.js';

/** Maximum devices that one request saves. The next request that names the others saves them. */
const maxSavedPerRequest = 100;

/**
 * Saves devices at their first use, because clients keep device ids that they registered on another
 * server. Caches saved devices for an hour, so that a poll needs no call to the account service.
 */
@Injectable()
export class DeviceRegistry {
  /** Devices saved within the last hour, by `<app password id> <device id>`. */
  private readonly recentlySaved = new LRUCache<string, true>({ max: 20_000, ttl: 3_600_000 });

  constructor(
    private readonly services: Services,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * Saves the devices of a request that are not cached, at most 100. Logs a Failure instead of
   * throwing it, because requests do not depend on devices. Ignores the devices of a read-only
   * client, because a new device can replace another device of the user.
   */
  async register(request: FastifyRequest, deviceIds: Iterable<string>): Promise<void> {
    const { userId, credentialId, scopes } = callerOf(request);
    if (!scopes.includes('write:subscriptions')) return;
    const unsavedIds = [...new Set(deviceIds)]
      .filter((id) => !this.recentlySaved.has(toCacheKey(credentialId, id)))
      .slice(0, maxSavedPerRequest);
    if (unsavedIds.length === 0) return;
    try {
      await this.services.call(saveDevices, request, {
        userId,
        credentialId,
        devices: unsavedIds.map((id) => ({ id })),
      });
      for (const id of unsavedIds) this.recentlySaved.set(toCacheKey(credentialId, id), true);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.log.debug(
        { err: error, correlationId: request.id },
        'devices not saved: the next request of the client with these devices saves them',
      );
    }
  }
}

function toCacheKey(credentialId: string, id: string): string {
  return `${credentialId} ${id}`;
}
