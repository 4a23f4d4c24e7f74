/** What clients do to JSON: whatever is not of the form that they need ends their sync. */
export class JsonReading {
  private constructor(private readonly value: Readonly<Record<string, unknown>>) {}

  static of(text: string): JsonReading {
    return JsonReading.from(JSON.parse(text));
  }

  static from(value: unknown): JsonReading {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('no JSON object');
    return new JsonReading(value as Record<string, unknown>);
  }

  /** A text that has to be there. */
  text(name: string): string {
    const found = this.value[name];
    if (typeof found !== 'string') throw new Error(`"${name}" is no text but ${JSON.stringify(found)}`);
    return found;
  }

  /** A text that may be missing. */
  optionalText(name: string): string | undefined {
    return this.value[name] === undefined ? undefined : this.text(name);
  }

  /** A whole number of 32 bits (Kasts reads no more). */
  number(name: string): number {
    const found = this.value[name];
    if (!Number.isInteger(found) || Math.abs(found as number) >= 2 ** 31)
      throw new Error(`"${name}" is no 32-bit integer but ${JSON.stringify(found)}`);
    return found as number;
  }

  optionalNumber(name: string): number | undefined {
    return this.value[name] === undefined ? undefined : this.number(name);
  }

  list(name: string): unknown[] {
    const found = this.value[name];
    if (!Array.isArray(found)) throw new Error(`"${name}" is no array but ${JSON.stringify(found)}`);
    return found as unknown[];
  }

  texts(name: string): string[] {
    return this.list(name).map((found) => {
      if (typeof found !== 'string') throw new Error(`"${name}" holds ${JSON.stringify(found)}`);
      return found;
    });
  }

  /** Pairs of `update_urls`. */
  pairs(name: string): [string, string][] {
    return this.list(name).map((pair) => {
      if (!Array.isArray(pair) || pair.length !== 2 || !pair.every((one) => typeof one === 'string'))
        throw new Error(`"${name}" holds ${JSON.stringify(pair)}`);
      return pair as [string, string];
    });
  }

  objects(name: string): JsonReading[] {
    return this.list(name).map((found) => JsonReading.from(found));
  }
}
