import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { networkOf } from '#identity';
import { LRUCache } from 'lru-cache';
import type { Standing } from './passwords.js';
import { Seal } from './seal.js';

const purpose = 'known browser';

/**
 * Who signed in lately from where. A browser keeps a sealed cookie that says as whom it once signed in ("device cookie",
 * OWASP); it lets nobody in. The process remembers the networks, for who comes with another browser.
 */
@Injectable()
export class KnownBrowsers {
  /** Networks from which somebody signed in during the last week. */
  private readonly networks = new LRUCache<string, true>({ max: 10_000, ttl: 7 * 24 * 3_600_000 });

  constructor(private readonly sealing: Seal) {}

  /** The cookie of a browser that has just signed in; the one that it has, where that says the same. */
  cookieFor(name: string, cookie = ''): string {
    if (this.deviceOf(name, cookie) !== undefined) return cookie;
    return this.sealing.seal(purpose, randomUUID(), name.toLowerCase()).toString('base64url');
  }

  /** The browser's id, where its cookie says that it signed in as this name. */
  deviceOf(name: string, cookie = ''): string | undefined {
    if (!/^[\w-]{1,200}$/.test(cookie)) return undefined;
    return this.sealing.open(purpose, Buffer.from(cookie, 'base64url'), name.toLowerCase());
  }

  /** Remembers that somebody signed in from there. */
  remember(address: string): void {
    this.networks.set(networkOf(address), true);
  }

  standing(address: string, device: string | undefined): Standing {
    if (device !== undefined) return 'known';
    return this.networks.has(networkOf(address)) ? 'near' : 'stranger';
  }
}
