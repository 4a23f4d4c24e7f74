import { z } from 'zod';

// A backup is a gzip file of lines. The first line is the head. For each table follow a line with
// its name, its rows in the text format of COPY, and a line `\.`. Then come the sequences, the keys
// and the last line, `complete`. A file without the last line is incomplete.

export const headSchema = z.object({
  podcast_sync_backup: z.object({
    format: z.literal(1),
    created: z.string(),
    /** Names of the applied migrations, in order. */
    migrations: z.array(z.string()),
  }),
});
export type BackupHead = z.output<typeof headSchema>['podcast_sync_backup'];

/** A line after the head that is not a row. The kinds of lines are in the order of a file. */
export const partSchema = z.union([
  z.object({ table: z.string(), columns: z.string() }),
  z.object({ sequence: z.string(), value: z.number().int() }),
  z.object({ key: z.string(), content: z.string() }),
  z.object({ complete: z.object({ rows: z.number().int() }) }),
]);
export type BackupPart = z.output<typeof partSchema>;

/** Line after the rows of a table. No row equals this line, because COPY escapes backslashes. */
export const endOfRows = '\\.';

/** Schemas to back up. `feed` is left out, because its rows can be fetched again. */
const backedUpSchemas = ['sync', 'subscription', 'episode', 'deletion', 'account'];

/** Selects all tables except `migrations`, with the tables that each references. $1 schemas. */
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
  values: [backedUpSchemas],
};

/** Selects the sequences with their last values. $1 schemas. */
export const selectSequences = {
  text: `
    SELECT format('%I.%I', schemaname, sequencename) AS name, last_value::float8 AS value
    FROM pg_sequences WHERE schemaname = ANY ($1) AND last_value IS NOT NULL ORDER BY 1`,
  values: [backedUpSchemas],
};

/** Selects the names of the applied migrations. */
export const selectMigrations = 'SELECT name FROM sync.migrations ORDER BY id';

/** A table to back up. `columns` is a list for SQL, without generated columns. */
export interface Table {
  readonly name: string;
  readonly columns: string;
  readonly references: readonly string[];
}

/** Sorts tables: each comes after the tables that it references. @throws Error for a cycle. */
export function inOrderOfReferences(tables: readonly Table[]): Table[] {
  const sorted: Table[] = [];
  const unsorted = new Map(tables.map((table) => [table.name, table]));
  while (unsorted.size > 0) {
    const next = [...unsorted.values()].find(
      (table) => !table.references.some((name) => unsorted.has(name)),
    );
    if (!next) throw new Error(`tables reference each other: ${[...unsorted.keys()].join(', ')}`);
    unsorted.delete(next.name);
    sorted.push(next);
  }
  return sorted;
}
