import ipaddr from 'ipaddr.js';

/**
 * Returns the network of an IP address, by which rate limits count clients. For IPv6 it is the /64,
 * because a household or rented server owns a whole /64. For IPv4, also written as IPv6, it is the
 * address itself. Any other text is returned unchanged.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsedAddress = ipaddr.process(address);
  if (!(parsedAddress instanceof ipaddr.IPv6)) return parsedAddress.toString();
  return `${parsedAddress.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
