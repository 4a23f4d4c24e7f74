import ipaddr from 'ipaddr.js';

/**
 * The network that an address counts as for rate limits: an IPv4 address itself, also when written as IPv6; of IPv6 the
 * first 64 bits, as a household or a rented server owns all addresses below them.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
