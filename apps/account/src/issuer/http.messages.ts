import type { IncomingMessage, ServerResponse } from 'node:http';
import { scopes } from '#contracts';

/** Lets pages of any origin read the answer (Fetch, 3.2.3): it needs no credential and says nothing of who asks. */
export function allowAnyOrigin(response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'GET, POST');
  response.setHeader('access-control-allow-headers', 'Content-Type');
  response.setHeader('access-control-max-age', '3600');
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

export function sendPage(response: ServerResponse, status: number, page: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(page);
}

/** The text of a body; undefined where it does not come, or is longer than `limit` bytes. Reads no more than that. */
export async function readText(raw: IncomingMessage, limit: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limit) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch {
    return undefined;
  }
}

/** The JSON of a text; undefined where it is none. */
export function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** Whether a name or a text in it, at any depth, has a control character: no parameter may (RFC 6749, appendix A). */
export function hasControls(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Cc}/u.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, inner]) => hasControls(name) || hasControls(inner));
}

/** The same of a query or a form. */
export function hasControlsInForm(text: string): boolean {
  return [...new URLSearchParams(text)].some(hasControls);
}

/** An authorization request that names no scope is for all that an app may ask for (RFC 6749, 3.3). */
export function withDefaultScope(raw: IncomingMessage): void {
  const [path = '', query = ''] = (raw.url ?? '').split(/\?(.*)/s, 2);
  if (new URLSearchParams(query).has('scope')) return;
  raw.url = `${path}?${query}${query ? '&' : ''}scope=${encodeURIComponent(scopes.join(' '))}`;
}
