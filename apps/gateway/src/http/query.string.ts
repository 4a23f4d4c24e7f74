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
