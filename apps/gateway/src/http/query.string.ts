/** Minimum length of a known parameter's name, and maximum length if all of it is %-encoded. */
const [shortestName, longestName] = ['page'.length, 3 * 'podcast_guid'.length];

/** The query of a request. Page links repeat parameters with unknown names as sent. */
export class QueryString {
  private readonly known = new Map<string, string[]>();
  private readonly others: string[] = [];

  /** @param search starts with a question mark, or is empty. @param names the known parameters. */
  constructor(search: string, names: readonly string[]) {
    for (const part of search.slice(1).split('&')) {
      const name = nameOf(part);
      if (name !== undefined && names.includes(name)) this.add(name, part);
      else if (part !== '') this.others.push(part);
    }
  }

  /** Returns the decoded values of a known parameter, at most the first two. */
  getAll(name: string): string[] {
    return (this.known.get(name) ?? []).flatMap((part) => new URLSearchParams(part).getAll(name));
  }

  /** Returns the query of a link: new values of some known parameters, the others as sent. */
  with(values: Readonly<Record<string, string>>): string {
    const kept = [...this.known]
      .filter(([name]) => !(name in values))
      .flatMap(([, parts]) => parts);
    return `?${[...this.others, ...kept, new URLSearchParams(values).toString()].join('&')}`;
  }

  private add(name: string, part: string): void {
    const parts = this.known.get(name);
    if (!parts) this.known.set(name, [part]);
    else if (parts.length < 2) parts.push(part);
  }
}

/** Returns the decoded name of a parameter; `undefined` if its length fits no known name. */
function nameOf(part: string): string | undefined {
  const equals = part.indexOf('=');
  const name = equals < 0 ? part : part.slice(0, equals);
  if (name.length < shortestName || name.length > longestName) return undefined;
  return name.includes('%') ? [...new URLSearchParams(name).keys()][0] : name;
}
