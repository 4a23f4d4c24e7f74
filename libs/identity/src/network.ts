import ipaddr from 'ipaddr.js';

/**
 * Returns the network of an IP address, by which limits count: the IPv4 address itself, also if it
 * is written as IPv6, or the /64 of an IPv6 address. A household or rented server owns a whole /64.
 * Any other text is returned unchanged.
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
