/** Minimum and maximum length of a known parameter's name, the latter with all of it %-encoded. */
const [minNameLength, maxNameLength] = ['page'.length, 3 * 'podcast_guid'.length];

/** The query string of a request. Links to other pages repeat unknown parameters as sent. */
export class QueryString {
  /** Known parameters, at most two of a name, as `name=value` and encoded as sent. */
  private readonly knownParameters = new Map<string, string[]>();
  private readonly unknownParameters: string[] = [];

  /** @param search query with its question mark, or empty. @param names the known parameters. */
  constructor(search: string, names: readonly string[]) {
    for (const part of search.slice(1).split('&')) {
      const name = decodeName(part);
      if (name !== undefined && names.includes(name)) this.add(name, part);
      else if (part !== '') this.unknownParameters.push(part);
    }
  }

  /** Returns the decoded values of a known parameter, at most the first two. */
  getAll(name: string): string[] {
    return (this.knownParameters.get(name) ?? []).flatMap((part) =>
      new URLSearchParams(part).getAll(name),
    );
  }

  /** Returns the query string with new values of some known parameters, the others as sent. */
  with(values: Readonly<Record<string, string>>): string {
    const kept = [...this.knownParameters]
      .filter(([name]) => !(name in values))
      .flatMap(([, parts]) => parts);
    const added = new URLSearchParams(values).toString();
    return `?${[...this.unknownParameters, ...kept, added].join('&')}`;
  }

  private add(name: string, part: string): void {
    const parts = this.knownParameters.get(name);
    if (!parts) this.knownParameters.set(name, [part]);
    else if (parts.length < 2) parts.push(part);
  }
}

/** Returns the name in `name=value`, decoded; `undefined` if its length fits no known name. */
function decodeName(part: string): string | undefined {
  const equals = part.indexOf('=');
  const name = equals < 0 ? part : part.slice(0, equals);
  if (name.length < minNameLength || name.length > maxNameLength) return undefined;
  return name.includes('%') ? [...new URLSearchParams(name).keys()][0] : name;
}
