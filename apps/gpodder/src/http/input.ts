import { Failure } from '#contracts';
import { parseJson, TooLarge, waitToParse } from '#http';
import type { FastifyRequest } from 'fastify';

/** Returns the maximum JSON values of a body with `maxEntries` entries. An action has about 10. */
export const maxValuesOf = (maxEntries: number): number => 20 * maxEntries;

/** Maximum `since` in seconds: the end of the year 9999. A greater value becomes the maximum. */
const maxSince = 253_402_300_799;

/** Returns the query parameters of a request. */
export function queryOf({ url }: Pick<FastifyRequest, 'url'>): URLSearchParams {
  const queryStart = url.indexOf('?');
  return new URLSearchParams(queryStart < 0 ? '' : url.slice(queryStart));
}

/** Returns the parameter `since` in seconds, by default 0. @throws Failure `invalid`. */
export function parseSince(query: URLSearchParams): number {
  const since = query.get('since');
  if (since === null) return 0;
  if (!/^\d+$/.test(since)) throw new Failure('invalid');
  return Math.min(Number(since), maxSince);
}

/**
 * Parses a body as JSON, whatever its content type.
 *
 * @param maxValues maximum number of JSON values, at all depths.
 * @throws Failure `invalid` for an empty body or invalid JSON; TooLarge above `maxValues`.
 */
export async function parseJsonBody(body: Buffer | undefined, maxValues: number): Promise<unknown> {
  if (body === undefined || body.length === 0) throw new Failure('invalid');
  await waitToParse(body);
  return parseJson(body, maxValues, () => new TooLarge()).value;
}

/** Parses a JSON object. @throws Failure `invalid` for other JSON; TooLarge above `maxValues`. */
export async function parseObjectBody(
  body: Buffer | undefined,
  maxValues: number,
): Promise<Record<string, unknown>> {
  const value = await parseJsonBody(body, maxValues);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Failure('invalid');
  return value as Record<string, unknown>;
}

/** Checks the number of entries of a body. @throws TooLarge above `max`. */
export function checkEntryCount(count: number, max: number): void {
  if (count > max) throw new TooLarge(`more than ${max} entries`);
}
