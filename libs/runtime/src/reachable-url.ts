import { networkInterfaces } from 'node:os';

/**
 * Returns the http URL at which other machines reach a server. For a wildcard host, the URL has an
 * IPv4 address of this machine in its network, or 127.0.0.1 if there is none.
 */
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
