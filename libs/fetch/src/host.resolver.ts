import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import type { AddressGuard } from './address.guard.js';
import { FetchError } from './fetch.error.js';

/** Time of the first try in milliseconds; the second and last takes twice as long. */
const [tryMs, tries] = [1_000, 2];

/** Resolves host names to allowed addresses. */
export class HostResolver {
  /**
   * Asks DNS servers directly: no hosts file or search domain leads to the local network, and a
   * slow server keeps no thread of the pool.
   */
  private readonly resolver = new Resolver({ timeout: tryMs, tries });

  constructor(
    private readonly guard: AddressGuard,
    servers?: readonly string[],
  ) {
    if (servers) this.resolver.setServers(servers);
  }

  /**
   * Returns all addresses of a host.
   *
   * @throws FetchError `refused` if one of them is not allowed, even if others are; `unresolved`
   *   for a name without addresses.
   */
  async addressesOf(name: string, port: number): Promise<LookupAddress[]> {
    if (this.guard.isException(name, port)) return lookup(name, { all: true });
    const [v4, v6] = await Promise.allSettled([
      this.resolver.resolve4(name),
      this.resolver.resolve6(name),
    ]);
    const addresses = [
      ...(v4.status === 'fulfilled' ? v4.value : []).map((address) => ({ address, family: 4 })),
      ...(v6.status === 'fulfilled' ? v6.value : []).map((address) => ({ address, family: 6 })),
    ];
    if (addresses.length === 0) throw new FetchError('unresolved', `${name}: no address in DNS`);
    if (!addresses.every(({ address }) => this.guard.allowsAddress(address, port)))
      throw new FetchError('refused', `${name}: not a public address or port`);
    return addresses;
  }
}
