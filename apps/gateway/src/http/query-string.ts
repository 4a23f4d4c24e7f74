/** Length limits of a known parameter's name as sent: %-encoding triples the longest name. */
const [minNameLength, maxNameLength] = ['page'.length, 3 * 'podcast_guid'.length];

/** The query string of a request. Links to other pages repeat unknown parameters as sent. */
export class QueryString {
  /** Known parameters by name: the first two of each, as `name=value` in the sent encoding. */
  private readonly knownParameters = new Map<string, string[]>();
  private readonly unknownParameters: string[] = [];

  /**
   * @param search query with its question mark, or empty.
   * @param knownNames names of the known parameters.
   */
  constructor(search: string, knownNames: readonly string[]) {
    for (const parameter of search.slice(1).split('&')) {
      const name = decodeName(parameter);
      if (name !== undefined && knownNames.includes(name)) this.addKnown(name, parameter);
      else if (parameter !== '') this.unknownParameters.push(parameter);
    }
  }

  /** Returns the decoded values of a known parameter, at most the first two. */
  getAll(name: string): string[] {
    return (this.knownParameters.get(name) ?? []).flatMap((parameter) =>
      new URLSearchParams(parameter).getAll(name),
    );
  }

  /** Returns the query string with new values of some known parameters, the others as sent. */
  with(values: Readonly<Record<string, string>>): string {
    const keptParameters = [...this.knownParameters]
      .filter(([name]) => !(name in values))
      .flatMap(([, parameters]) => parameters);
    const newParameters = new URLSearchParams(values).toString();
    return `?${[...this.unknownParameters, ...keptParameters, newParameters].join('&')}`;
  }

  private addKnown(name: string, parameter: string): void {
    const parameters = this.knownParameters.get(name);
    if (!parameters) this.knownParameters.set(name, [parameter]);
    else if (parameters.length < 2) parameters.push(parameter);
  }
}

/** Returns the name in `name=value`, decoded; `undefined` if its length fits no known name. */
function decodeName(parameter: string): string | undefined {
  const equalsIndex = parameter.indexOf('=');
  const name = equalsIndex < 0 ? parameter : parameter.slice(0, equalsIndex);
  if (name.length < minNameLength || name.length > maxNameLength) return undefined;
  return name.includes('%') ? [...new URLSearchParams(name).keys()][0] : name;
}
