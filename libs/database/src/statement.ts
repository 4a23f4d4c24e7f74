import { inSpan } from '#runtime';
import { SpanKind } from '@opentelemetry/api';
import type { QueryConfig } from 'pg';

/** An SQL statement with a unique name, so that each connection parses and plans it once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/**
 * A statement with its values. `Row` is the type of the rows that it returns. `row` only carries
 * this type and is never set.
 */
export type Bound<Row extends object = object> = readonly [
  query: Statement,
  values: readonly unknown[],
] & {
  readonly row?: Row;
};

const statementsByName = new Map<string, Statement>();
/** All statements of this process by name. */
export const statements: ReadonlyMap<string, Statement> = statementsByName;

/** Matches a call in SQL that can advance the clock of a user. */
const clockAdvance = /\bsync\.(begin_write|advance_clock)\(/;

/**
 * Registers a statement.
 *
 * @param name `<service>.<action>`, unique, because a connection prepares one text per name.
 * @param text SQL. If the SQL can advance the clock of user $1, its column `moved` is the new
 *   clock, or null if the clock did not advance. {@link PgTransaction} reports the new clock.
 * @throws Error if the column `moved` is missing, or the name has another text.
 */
export function statement(name: string, text: string): Statement {
  if (clockAdvance.test(text) && !/ AS moved\b/.test(text))
    throw new Error(`statement ${name} advances a clock: it must return the stamp AS moved`);
  if ((statementsByName.get(name)?.text ?? text) !== text)
    throw new Error(`two statements are named ${name}`);
  const query = Object.freeze({ name, text });
  statementsByName.set(name, query);
  return query;
}

/** Returns SQL that formats a `timestamptz` as ISO text in UTC with microseconds. */
export function isoTimeSql(time: string): string {
  return `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/**
 * Returns the query for pg, which prepares a query that has a name. Without `timeoutMs`, the
 * timeout of the pool applies.
 */
export function bind(
  query: Statement,
  values: readonly unknown[],
  prepared: boolean,
  timeoutMs?: number,
): QueryConfig {
  return {
    ...(prepared && { name: query.name }),
    ...(timeoutMs !== undefined && { query_timeout: timeoutMs }),
    text: query.text,
    values: [...values],
  };
}

/** Runs a statement in a span of the current trace. */
export function inStatementSpan<Result>(name: string, run: () => Promise<Result>): Promise<Result> {
  const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': name };
  return inSpan(`postgres ${name}`, { kind: SpanKind.CLIENT, attributes }, run);
}
