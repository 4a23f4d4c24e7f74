import { networkInterfaces } from 'node:os';

/**
 * Returns a URL of a server on a host and port. For a wildcard host it uses this machine's address
 * in the local network, so that phones reach it, or the loopback address without a network.
 */
export function reachableUrl(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? localAddress() : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function localAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}
