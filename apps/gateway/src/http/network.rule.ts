import { isIPv6 } from 'node:net';

/**
 * The network that an address counts as for rate limits: an IPv4 address itself, also when written as IPv6; of IPv6 the
 * first 64 bits, as a household or a rented server owns all addresses below them.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = '', tail] = address.split('%', 1)[0]?.split('::', 2) ?? [];
  const groups = (part: string) => part.split(':').filter((group) => group !== '');
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: Math.max(8 - before.length - after.length, 0) }, () => '0');
  const first = [...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4);
  return `${first.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
