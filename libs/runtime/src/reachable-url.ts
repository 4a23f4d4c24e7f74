import { networkInterfaces } from 'node:os';

/**
 * Returns the http URL at which other machines reach a server. For the hosts `0.0.0.0` and `::`, it
 * contains an IPv4 address of this machine, or 127.0.0.1 if there is no other.
 */
export function reachableUrl(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? findLocalAddress() : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function findLocalAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return (
    addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
  );
}
