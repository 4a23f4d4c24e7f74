import { Failure } from '#contracts';
import { readJson, TooLarge, waitToParse } from '#http';
import type { FastifyRequest } from 'fastify';

/** Values of JSON for each entry of a body: the fields of an action, and as many again. */
const valuesPerEntry = 20;

/** Seconds beyond any date; only a broken clock has them. */
const latest = 253_402_300_799;

/** The parameters of a request's query. */
export function queryOf({ url }: Pick<FastifyRequest, 'url'>): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start));
}

/** The `since` of a query: whole seconds, 0 where there is none. @throws Failure `invalid` for anything else. */
export function sinceOf(query: URLSearchParams): number {
  const since = query.get('since');
  if (since === null) return 0;
  if (!/^\d+$/.test(since)) throw new Failure('invalid');
  return Math.min(Number(since), latest);
}

/**
 * The JSON of a body, whatever its type is said to be.
 *
 * @param mostEntries for which it may have values.
 * @throws Failure `invalid` where it is none; TooLarge where it has more values.
 */
export async function jsonOf(body: Buffer | undefined, mostEntries: number): Promise<unknown> {
  if (body === undefined || body.length === 0) throw new Failure('invalid');
  await waitToParse(body);
  return parsed(body, mostEntries);
}

/** The same for a body that may be parsed now. */
export function parsed(body: Buffer, mostEntries: number): unknown {
  return readJson(body, mostEntries * valuesPerEntry, () => new TooLarge()).value;
}

/** What {@link jsonOf} reads, where it has to be an object. @throws Failure `invalid`; TooLarge */
export async function objectOf(body: Buffer | undefined, mostEntries: number): Promise<Record<string, unknown>> {
  const value = await jsonOf(body, mostEntries);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Failure('invalid');
  return value as Record<string, unknown>;
}

/** Refuses more entries than one body may have. */
export function limitEntries(count: number, most: number): void {
  if (count > most) throw new TooLarge(`more than ${most} entries`);
}
