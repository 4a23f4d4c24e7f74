import type { IncomingMessage, ServerResponse } from 'node:http';
import { isPlainText, scopes } from '#contracts';

/**
 * Allows pages of any origin to read the response (CORS; Fetch, 3.2.3). Only for routes that use no
 * cookie and no token.
 */
export function allowAnyOrigin(response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'GET, POST');
  response.setHeader('access-control-allow-headers', 'Content-Type');
  response.setHeader('access-control-max-age', '3600');
}

/** Sends a JSON response with headers that forbid caching. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

/** Sends an HTML response with headers that forbid caching. */
export function sendPage(response: ServerResponse, status: number, page: string): void {
  response
    .writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .end(page);
}

/** Reads a body as text; undefined above `maxBytes` or if the connection fails. */
export async function readText(
  raw: IncomingMessage,
  maxBytes: number,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  try {
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      byteCount += chunk.length;
      if (byteCount > maxBytes) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * Returns true if no string or field name, at any depth, contains a control character or a lone
 * surrogate ({@link isPlainText}). RFC 6749, appendix A, forbids control characters too.
 */
export function hasOnlyPlainText(value: unknown): boolean {
  if (typeof value === 'string') return isPlainText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(
    ([name, fieldValue]) => isPlainText(name) && hasOnlyPlainText(fieldValue),
  );
}

/** Returns true if all fields of a query or form fulfil {@link hasOnlyPlainText}. */
export function isPlainForm(urlEncoded: string): boolean {
  return hasOnlyPlainText([...new URLSearchParams(urlEncoded)]);
}

/** Adds all scopes of the API to an authorization request without a scope (RFC 6749, 3.3). */
export function addDefaultScope(raw: IncomingMessage): void {
  const [path = '', query = ''] = (raw.url ?? '').split(/\?(.*)/s, 2);
  if (new URLSearchParams(query).has('scope')) return;
  raw.url = `${path}?${query}${query ? '&' : ''}scope=${encodeURIComponent(scopes.join(' '))}`;
}
