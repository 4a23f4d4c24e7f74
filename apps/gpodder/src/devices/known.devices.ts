import { Inject, Injectable } from '@nestjs/common';
import { Failure, saveDevices } from '#contracts';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request.caller.js';
import { LOG } from '../gpodder.config.js';
import { Services } from '../services.js';

/** How long a device need not be told of again, in milliseconds: its use is noted once a day. */
const knownMs = 3_600_000;
/** Devices that are remembered; of one message. */
const [mostKnown, mostSaved] = [50_000, 100];

/**
 * Makes devices known at their first use: clients come over from other servers with ids that were never described here.
 * Remembers for which it did, so that a poll costs no message of its own.
 */
@Injectable()
export class KnownDevices {
  /** The oldest first, with the time until which they are known. */
  private readonly known = new Map<string, number>();

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
    const now = performance.now();
    const fresh = [...new Set(ids)].filter((id) => (this.known.get(keyOf(userId, id)) ?? 0) <= now).slice(0, mostSaved);
    if (fresh.length === 0) return;
    try {
      await this.services.call(saveDevices, request, { userId, devices: fresh.map((id) => ({ id })) });
      for (const id of fresh) this.remember(keyOf(userId, id), now + knownMs);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.log.debug({ err: error, requestId: request.id }, 'devices were not made known');
    }
  }

  private remember(key: string, until: number): void {
    this.known.delete(key);
    this.known.set(key, until);
    for (const oldest of this.known.keys()) {
      if (this.known.size <= mostKnown) return;
      this.known.delete(oldest);
    }
  }
}

function keyOf(userId: string, id: string): string {
  return `${userId} ${id}`;
}
