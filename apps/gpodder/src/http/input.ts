import { Failure } from '#contracts';
import { parseJson, TooLarge, waitToParse } from '#http';
import type { FastifyRequest } from 'fastify';

/** Maximum JSON values of a body for each allowed entry. An action has about 10 of them. */
const valuesPerEntry = 20;

/** The end of the year 9999, in seconds. A greater `since` is reduced to it. */
const maxSince = 253_402_300_799;

/** Returns the query parameters of a request. */
export function queryOf({ url }: Pick<FastifyRequest, 'url'>): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start));
}

/** Returns the parameter `since` in seconds, by default 0. @throws Failure `invalid` */
export function parseSince(query: URLSearchParams): number {
  const since = query.get('since');
  if (since === null) return 0;
  if (!/^\d+$/.test(since)) throw new Failure('invalid');
  return Math.min(Number(since), maxSince);
}

/**
 * Parses a body as JSON, whatever its content type.
 *
 * @param maxEntries maximum number of entries. A body can have `valuesPerEntry` JSON values for
 *   each.
 * @throws Failure `invalid`; TooLarge for more values.
 */
export async function parseJsonBody(
  body: Buffer | undefined,
  maxEntries: number,
): Promise<unknown> {
  if (body === undefined || body.length === 0) throw new Failure('invalid');
  await waitToParse(body);
  return parseJson(body, maxEntries * valuesPerEntry, () => new TooLarge()).value;
}

/** Parses a JSON object with {@link parseJsonBody}. @throws Failure `invalid`; TooLarge */
export async function parseObjectBody(
  body: Buffer | undefined,
  maxEntries: number,
): Promise<Record<string, unknown>> {
  const value = await parseJsonBody(body, maxEntries);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Failure('invalid');
  return value as Record<string, unknown>;
}

/** Checks the number of entries of a body. @throws TooLarge above `max`. */
export function checkEntryCount(count: number, max: number): void {
  if (count > max) throw new TooLarge(`more than ${max} entries`);
}
