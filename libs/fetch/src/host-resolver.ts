import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import type { AddressGuard } from './address-guard.js';
import { FetchError } from './fetch-error.js';

/**
 * Timeout of the first DNS query in milliseconds, and maximum number of queries. The second query
 * has twice the timeout.
 */
const [queryTimeoutMs, maxQueries] = [1_000, 2];

/** Resolves host names to allowed addresses. */
export class HostResolver {
  /**
   * Queries DNS servers directly, because hosts files and search domains could resolve a name to
   * the local network, and Node's `lookup` would block a thread of its pool.
   */
  private readonly resolver = new Resolver({ timeout: queryTimeoutMs, tries: maxQueries });

  constructor(
    private readonly guard: AddressGuard,
    dnsServers?: readonly string[],
  ) {
    if (dnsServers) this.resolver.setServers(dnsServers);
  }

  /**
   * Returns all addresses of a host. The system resolves names that are configured exceptions, and
   * their addresses are not checked.
   *
   * @throws FetchError `refused` if at least one address is not allowed; `unresolved` for a name
   *   without addresses.
   */
  async addressesOf(name: string, port: number): Promise<LookupAddress[]> {
    if (this.guard.isException(name, port)) return lookup(name, { all: true });
    const [v4Result, v6Result] = await Promise.allSettled([
      this.resolver.resolve4(name),
      this.resolver.resolve6(name),
    ]);
    const addresses = [
      ...(v4Result.status === 'fulfilled' ? v4Result.value : []).map((address) => ({
        address,
        family: 4,
      })),
      ...(v6Result.status === 'fulfilled' ? v6Result.value : []).map((address) => ({
        address,
        family: 6,
      })),
    ];
    if (addresses.length === 0) throw new FetchError('unresolved', `${name}: no address in DNS`);
    if (!addresses.every(({ address }) => this.guard.allowsAddress(address, port)))
      throw new FetchError('refused', `${name}: address or port is not public`);
    return addresses;
  }
}
