import { Failure } from '#contracts';
import { readJson, TooLarge, waitToParse } from '#http';
import type { FastifyRequest } from 'fastify';

/** Maximum JSON values for each entry of a body: twice the fields of an action. */
const valuesPerEntry = 20;

/** Maximum `since`: the end of the year 9999, in seconds. Higher values are reduced to it. */
const maxSince = 253_402_300_799;

/** Returns the parameters of a request's query. */
export function queryOf({ url }: Pick<FastifyRequest, 'url'>): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start));
}

/** Returns the `since` of a query in seconds, by default 0. @throws Failure `invalid` */
export function readSince(query: URLSearchParams): number {
  const since = query.get('since');
  if (since === null) return 0;
  if (!/^\d+$/.test(since)) throw new Failure('invalid');
  return Math.min(Number(since), maxSince);
}

/**
 * Parses the JSON of a body of any content type.
 *
 * @param maxEntries maximum number of entries; a body has at most `valuesPerEntry` JSON values for
 *   each.
 * @throws Failure `invalid`; TooLarge for more values.
 */
export async function readJsonBody(body: Buffer | undefined, maxEntries: number): Promise<unknown> {
  if (body === undefined || body.length === 0) throw new Failure('invalid');
  await waitToParse(body);
  return readJson(body, maxEntries * valuesPerEntry, () => new TooLarge()).value;
}

/** Parses a JSON object with {@link readJsonBody}. @throws Failure `invalid`; TooLarge */
export async function readObjectBody(
  body: Buffer | undefined,
  maxEntries: number,
): Promise<Record<string, unknown>> {
  const value = await readJsonBody(body, maxEntries);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Failure('invalid');
  return value as Record<string, unknown>;
}

/** Checks the number of entries of a body. @throws TooLarge */
export function checkEntryCount(count: number, max: number): void {
  if (count > max) throw new TooLarge(`more than ${max} entries`);
}
