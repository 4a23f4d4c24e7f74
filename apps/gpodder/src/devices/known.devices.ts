import { Inject, Injectable } from '@nestjs/common';
import { Failure, saveDevices } from '#contracts';
import { Services } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { callerOf } from '../auth/request.caller.js';
import { LOG } from '../gpodder.config.js';

/** Devices of one message at most. */
const mostSaved = 100;

/**
 * Makes devices known at their first use: clients come over from other servers with ids that were never described here.
 * Remembers for which it did, so that a poll costs no message of its own.
 */
@Injectable()
export class KnownDevices {
  /** Devices that need not be told of again for an hour: their use is noted once a day. */
  private readonly saved = new LRUCache<string, true>({ max: 20_000, ttl: 3_600_000 });

  constructor(
    private readonly services: Services,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * To be awaited beside what the request is about; it never fails, as nothing else hangs on a device.
   * Who may only read makes none known, and so pushes out none of the user's.
   */
  async use(request: FastifyRequest, ids: Iterable<string>): Promise<void> {
    const { userId, scopes } = callerOf(request);
    if (!scopes.includes('write:subscriptions')) return;
    const fresh = [...new Set(ids)].filter((id) => !this.saved.has(keyOf(userId, id))).slice(0, mostSaved);
    if (fresh.length === 0) return;
    try {
      await this.services.call(saveDevices, request, { userId, devices: fresh.map((id) => ({ id })) });
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
