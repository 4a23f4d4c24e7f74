import { assert } from 'vitest';
import { baseUrl } from './stack.js';

/** An answer; `body` is its JSON, or `undefined`. */
export interface Answer<Body = unknown> {
  status: number;
  headers: Headers;
  text: string;
  body: Body;
}

/** Parts of a request in addition to method and path. */
export interface Parts {
  token?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged, as JSON unless a header sets another type. */
  raw?: string | Uint8Array<ArrayBuffer>;
}

/** Sends a request to a path, or to a whole URL, as links are. */
export async function send<Body = unknown>(
  method: string,
  path: string,
  parts: Parts = {},
): Promise<Answer<Body>> {
  const body = parts.raw ?? (parts.body === undefined ? undefined : JSON.stringify(parts.body));
  const response = await fetch(/^https?:/.test(path) ? path : `${baseUrl}${path}`, {
    method,
    headers: {
      ...(parts.token !== undefined && { authorization: `Bearer ${parts.token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...parts.headers,
    },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const json =
    /^application\/json\b/.test(response.headers.get('content-type') ?? '') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (json ? JSON.parse(text) : undefined) as Body,
  };
}

const messages: Record<number, string> = {
  400: 'Bad request',
  401: 'User not authorized',
  404: 'Resource not found',
  405: 'Input could not be validated',
  408: 'Request timed out',
  410: 'Subscription has been deleted',
  413: 'Request is too large',
  414: 'Request URL is too long',
  431: 'Request header is too large',
};

/** Returns the body of an error. */
export function errorBody(status: number): { code: string; message: string } {
  return { code: String(status), message: messages[status] ?? '' };
}

/** Expects the error answer of a status with its exact body. */
export function expectError(answer: Answer, status: number): void {
  assert.deepEqual(
    { status: answer.status, body: answer.body ?? answer.text },
    { status, body: errorBody(status) },
  );
}

/** Matches a time stamp of the interface. */
export const stampForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Matches a guid of the interface. */
export const guidForm = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
