import { networkInterfaces } from 'node:os';

/** Returns a server's URL; for a wildcard host that in the local network, or the loopback one. */
export function reachableUrl(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? localAddress() : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function localAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return (
    addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
  );
}
