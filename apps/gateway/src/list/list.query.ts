import { parseTime, toStamp } from '#contracts';
import { type Cursor, decodeCursor } from './cursor.js';

/** The lengths of the shortest and the longest name of a known parameter, the longest one percent-encoded. */
const [shortestName, longestName] = ['page'.length, 3 * 'timestamp'.length];

/**
 * The query of a request. Only the parameters that it knows are decoded; all others, however many, are repeated
 * unchanged in the links of a page.
 */
export class QueryString {
  private readonly known = new Map<string, string[]>();
  private readonly others: string[] = [];

  /** @param search beginning with the question mark, or empty. */
  constructor(search: string, names: readonly string[]) {
    for (const part of search.slice(1).split('&')) {
      const name = nameOf(part);
      if (name !== undefined && names.includes(name)) this.add(name, part);
      else if (part !== '') this.others.push(part);
    }
  }

  /** The values of a known parameter, decoded; of more than two only the first two. */
  getAll(name: string): string[] {
    return (this.known.get(name) ?? []).flatMap((part) => new URLSearchParams(part).getAll(name));
  }

  /** The query of a link: new values for some of the known parameters, everything else as sent. */
  with(values: Readonly<Record<string, string>>): string {
    const kept = [...this.known].filter(([name]) => !(name in values)).flatMap(([, parts]) => parts);
    return `?${[...this.others, ...kept, new URLSearchParams(values).toString()].join('&')}`;
  }

  private add(name: string, part: string): void {
    const parts = this.known.get(name);
    if (!parts) this.known.set(name, [part]);
    else if (parts.length < 2) parts.push(part);
  }
}

/** The name of a parameter, decoded; `undefined` for one too short or too long to be known. */
function nameOf(part: string): string | undefined {
  const equals = part.indexOf('=');
  const name = equals < 0 ? part : part.slice(0, equals);
  if (name.length < shortestName || name.length > longestName) return undefined;
  return name.includes('%') ? [...new URLSearchParams(name).keys()][0] : name;
}

/** Rows on a page unless the client asks for another number. */
const defaultPerPage = 50;

/** The query of a list, without what can't be used (docs/interface.md, "Lists"). */
export interface ListQuery {
  since: string | undefined;
  page: number;
  perPage: number;
  cursor: Cursor | undefined;
  /** The parameters that were not used as sent, in the order of their names in the interface. */
  ignored: string[];
}

/** The parameters of both lists. */
export const listParameters = ['since', 'page', 'per_page', 'cursor'] as const;

/** Reads the query of a list (docs/interface.md, "Nothing in a query is an error"). */
export function readListQuery(
  parameters: Pick<URLSearchParams, 'getAll'>,
  scope: { userId: string; list: string; maxPerPage: number },
): ListQuery {
  const ignored: string[] = [];
  const read = <Value>(name: string, parse: (text: string) => Value | undefined): Value | undefined => {
    const values = parameters.getAll(name);
    if (values.length === 0) return undefined;
    const value = values.length === 1 ? parse(values[0] as string) : undefined;
    if (value === undefined) ignored.push(name);
    return value;
  };
  const since = read('since', (text) => {
    const time = parseTime(text);
    return time && toStamp(time);
  });
  const page = read('page', positiveInteger) ?? 1;
  const asked = read('per_page', clampedInteger) ?? Math.min(defaultPerPage, scope.maxPerPage);
  if (asked > scope.maxPerPage) ignored.push('per_page');
  const cursor = read('cursor', (text) => decodeCursor(text, { userId: scope.userId, list: scope.list, since }));
  return { since, page, perPage: Math.min(asked, scope.maxPerPage), cursor, ignored };
}

function positiveInteger(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  return value >= 1 && Number.isSafeInteger(value) ? value : undefined;
}

/** A positive number of any size: one that is too large is clamped. */
function clampedInteger(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  return value >= 1 ? value : undefined;
}
