import { inSpan } from '#runtime';
import { SpanKind } from '@opentelemetry/api';
import type { QueryConfig } from 'pg';

/** One SQL statement with a name of its own, so that each connection parses and plans it once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement with its values. `Row` is the type of its rows. */
export type Bound<Row extends object = object> = readonly [query: Statement, values: readonly unknown[]] & {
  readonly row?: Row;
};

const made = new Map<string, Statement>();
/** Every statement that this process has made, by its name. */
export const statements: ReadonlyMap<string, Statement> = made;

/** SQL that moves the clocks of users. */
const movesClock = /\bsync\.(begin_write|advance_clock)\(/;

/**
 * @param name `<service>.<what it does>`, unique in the process: a connection keeps one text for a name.
 * @param text one that moves the clock of its $1 answers as `moved` where it is then, or null where it stands still: no
 * write is left out of what {@link PgTransaction} tells that way.
 */
export function statement(name: string, text: string): Statement {
  if (movesClock.test(text) && !/ AS moved\b/.test(text)) throw new Error(`${name} does not answer where the clock is`);
  if ((made.get(name)?.text ?? text) !== text) throw new Error(`two statements are named ${name}`);
  const query = Object.freeze({ name, text });
  made.set(name, query);
  return query;
}

/** SQL that reads a time as rules compare clients' times: UTC with microseconds (`ClientTime` of the contracts). */
export function instant(time: string): string {
  return `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** A statement with its values, as a prepared one where connections keep prepared statements. */
export function bind(query: Statement, values: readonly unknown[], prepared: boolean, timeoutMs?: number): QueryConfig {
  return {
    ...(prepared && { name: query.name }),
    ...(timeoutMs !== undefined && { query_timeout: timeoutMs }),
    text: query.text,
    values: [...values],
  };
}

/** Runs a statement as a span of the current trace. */
export function inStatementSpan<Result>(name: string, run: () => Promise<Result>): Promise<Result> {
  const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': name };
  return inSpan(`postgres ${name}`, { kind: SpanKind.CLIENT, attributes }, run);
}
