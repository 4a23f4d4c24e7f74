import { networkInterfaces } from 'node:os';

/**
 * The URL of a server that listens on a host and port: where the host means all addresses, that of this machine in the
 * local network, so that phones find it, or this machine itself where it is in none.
 */
export function reachableUrl(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? localAddress() : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function localAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}
