import { z } from 'zod';

// A backup is gzip of lines: a head, then for each table a line with its name and the rows in the
// text format of COPY up to a line `\.`, then sequences and keys, then a last line. A file without
// its last line is incomplete.

export const headSchema = z.object({
  podcast_sync_backup: z.object({
    format: z.literal(1),
    created: z.string(),
    /** Names of the applied migrations, in order. */
    migrations: z.array(z.string()),
  }),
});
export type BackupHead = z.output<typeof headSchema>['podcast_sync_backup'];

/** The lines after the head, in their order. */
export const partSchema = z.union([
  z.object({ table: z.string(), columns: z.string() }),
  z.object({ sequence: z.string(), value: z.number().int() }),
  z.object({ key: z.string(), content: z.string() }),
  z.object({ complete: z.object({ rows: z.number().int() }) }),
]);
export type BackupPart = z.output<typeof partSchema>;

/** Line after the rows of a table. COPY escapes every backslash, so no row is equal to it. */
export const endOfRows = '\\.';

/** Schemas to back up. The rows of `feed` can be fetched again. */
const schemas = ['sync', 'subscription', 'episode', 'deletion', 'account'];

/** Selects the tables, each with the tables that it references; not migrations. $1 schemas. */
export const selectTables = {
  text: `
    SELECT t.oid::regclass::text AS name,
      (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
       WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns,
      ARRAY(SELECT DISTINCT confrelid::regclass::text FROM pg_constraint
            WHERE conrelid = t.oid AND contype = 'f' AND confrelid <> t.oid) AS "references"
    FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
    WHERE n.nspname = ANY ($1) AND t.relkind IN ('r', 'p') AND NOT t.relispartition
      AND t.relname <> 'migrations'
    ORDER BY 1`,
  values: [schemas],
};

/** Selects the sequences with their last values. $1 schemas. */
export const selectSequences = {
  text: `
    SELECT format('%I.%I', schemaname, sequencename) AS name, last_value::float8 AS value
    FROM pg_sequences WHERE schemaname = ANY ($1) AND last_value IS NOT NULL ORDER BY 1`,
  values: [schemas],
};

/** Selects the names of the applied migrations. */
export const selectMigrations = 'SELECT name FROM sync.migrations ORDER BY id';

/** A table of the schema. */
export interface Table {
  readonly name: string;
  readonly columns: string;
  readonly references: readonly string[];
}

/** Returns tables in an order in which referenced tables come first. @throws Error for a cycle. */
export function inOrderOfReferences(all: readonly Table[]): Table[] {
  const ordered: Table[] = [];
  const left = new Map(all.map((table) => [table.name, table]));
  while (left.size > 0) {
    const next = [...left.values()].find(
      (table) => !table.references.some((name) => left.has(name)),
    );
    if (!next) throw new Error(`tables reference each other: ${[...left.keys()].join(', ')}`);
    left.delete(next.name);
    ordered.push(next);
  }
  return ordered;
}
