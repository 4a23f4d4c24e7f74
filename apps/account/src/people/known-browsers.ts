import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { networkOf } from '#identity';
import { LRUCache } from 'lru-cache';
import type { Standing } from './passwords.js';
import { Seal } from './seal.js';

const purpose = 'known browser';

/**
 * Recognizes browsers and networks of earlier sign-ins. A device cookie (OWASP) is sealed for the
 * name of a sign-in and grants no access. Each process caches networks.
 */
@Injectable()
export class KnownBrowsers {
  /** Networks with a sign-in during the last week. */
  private readonly networks = new LRUCache<string, true>({ max: 10_000, ttl: 7 * 24 * 3_600_000 });

  constructor(private readonly sealing: Seal) {}

  /** Returns the device cookie for a name; keeps a valid cookie of that name. */
  cookieFor(name: string, cookie = ''): string {
    if (this.deviceOf(name, cookie) !== undefined) return cookie;
    return this.sealing.seal(purpose, randomUUID(), name.toLowerCase()).toString('base64url');
  }

  /** Returns the browser's id if its cookie is of a sign-in with this name. */
  deviceOf(name: string, cookie = ''): string | undefined {
    if (!/^[\w-]{1,200}$/.test(cookie)) return undefined;
    return this.sealing.open(purpose, Buffer.from(cookie, 'base64url'), name.toLowerCase());
  }

  remember(address: string): void {
    this.networks.set(networkOf(address), true);
  }

  standing(address: string, device: string | undefined): Standing {
    if (device !== undefined) return 'known';
    return this.networks.has(networkOf(address)) ? 'near' : 'stranger';
  }
}
