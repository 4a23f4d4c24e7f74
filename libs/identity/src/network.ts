import ipaddr from 'ipaddr.js';

/**
 * Returns the network of an IP address, by which rate limits count clients: the /64 of an IPv6
 * address, because a household or rented server owns a whole /64; an IPv4 address itself, also if
 * it is written as IPv6. Any other text is returned unchanged.
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
