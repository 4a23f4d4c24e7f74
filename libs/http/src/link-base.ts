import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { HttpConfig } from './http.config.js';

/**
 * Returns the base URL of links in an answer: PUBLIC_URL if it is set, else scheme and host of the
 * request, else (without a valid host) the address that the server listens on.
 */
export function linkBase(
  { protocol, host, headers }: Pick<FastifyRequest, 'protocol' | 'host' | 'headers'>,
  { PUBLIC_URL, HOST, PORT }: Pick<HttpConfig, 'PUBLIC_URL' | 'HOST' | 'PORT'>,
): string {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL;
  const requestedBase = `${protocol}://${host}`;
  if (headers.host !== undefined && URL.canParse(requestedBase)) return requestedBase;
  return `http://${isIPv6(HOST) ? `[${HOST}]` : HOST}:${PORT}`;
}
