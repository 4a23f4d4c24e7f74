import ipaddr from 'ipaddr.js';

/**
 * Returns the network of an address for rate limits: an IPv4 address, also if written as IPv6; of
 * IPv6 the /64, because a household or a rented server owns all of its addresses.
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
