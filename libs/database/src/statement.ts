/** One SQL statement with a name of its own, so that each connection parses and plans it once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement with its values. `Row` is the type of its rows. */
export type Bound<Row extends object = object> = readonly [query: Statement, values: readonly unknown[]] & {
  readonly row?: Row;
};

/** @param name `<service>.<what it does>`, unique in the process. */
export function statement(name: string, text: string): Statement {
  return Object.freeze({ name, text });
}
