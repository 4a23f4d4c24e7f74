import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { networkOf } from '#identity';
import { LRUCache } from 'lru-cache';
import type { ClientTrust } from './passwords.js';
import { Seal } from './seal.js';

const sealPurpose = 'known browser';

/**
 * Recognizes devices and networks of earlier sign-ins, and devices of password resets. A device
 * cookie (OWASP, "Device Cookies") is encrypted for the name of the account and grants no access.
 * Each process caches the last 10,000 networks of sign-ins for a week.
 */
@Injectable()
export class TrustedClients {
  private readonly trustedNetworks = new LRUCache<string, true>({
    max: 10_000,
    ttl: 7 * 24 * 3_600_000,
  });

  constructor(private readonly sealing: Seal) {}

  /**
   * Returns the device cookie for a name, encrypted with the current key.
   *
   * @param cookie device cookie that the browser sent. If it is valid for the name, the new cookie
   *   keeps its device id; otherwise the device gets a new id.
   */
  cookieFor(name: string, cookie = ''): string {
    const device = this.deviceOf(name, cookie) ?? randomUUID();
    return this.sealing.seal(sealPurpose, device, name.toLowerCase()).toString('base64url');
  }

  /** Returns the device id of a cookie; undefined if the cookie is not valid for the name. */
  deviceOf(name: string, cookie = ''): string | undefined {
    if (!/^[\w-]{1,200}$/.test(cookie)) return undefined;
    return this.sealing.open(sealPurpose, Buffer.from(cookie, 'base64url'), name.toLowerCase());
  }

  /** Trusts the network of an IP address for a week, in this process. */
  trustNetwork(address: string): void {
    this.trustedNetworks.set(networkOf(address), true);
  }

  /** Returns the trust level of a client. @param device result of {@link deviceOf}. */
  trustOf(address: string, device: string | undefined): ClientTrust {
    if (device !== undefined) return 'trustedDevice';
    return this.trustedNetworks.has(networkOf(address)) ? 'trustedNetwork' : 'untrusted';
  }
}
