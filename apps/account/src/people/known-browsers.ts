import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { networkOf } from '#identity';
import type { Standing } from './passwords.js';
import { Seal } from './seal.js';

const purpose = 'known browser';

/** The most networks that are remembered, and for how long, in milliseconds. */
const mostNetworks = 10_000;
const rememberedMs = 7 * 24 * 3_600_000;

/**
 * Who signed in lately from where. A browser keeps a sealed cookie that says as whom it once signed in ("device cookie",
 * OWASP); it lets nobody in. The process remembers the networks, for who comes with another browser.
 */
@Injectable()
export class KnownBrowsers {
  /** When somebody last signed in from a network, the latest last. */
  private readonly networks = new Map<string, number>();

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
    const network = networkOf(address);
    this.networks.delete(network);
    this.networks.set(network, performance.now());
    if (this.networks.size <= mostNetworks) return;
    for (const oldest of this.networks.keys()) {
      this.networks.delete(oldest);
      return;
    }
  }

  standing(address: string, device: string | undefined): Standing {
    if (device !== undefined) return 'known';
    const at = this.networks.get(networkOf(address));
    return at !== undefined && performance.now() - at < rememberedMs ? 'near' : 'stranger';
  }
}
