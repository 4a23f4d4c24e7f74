import type { DataSource } from 'typeorm';

/** A table, view or sequence. */
export interface Relation {
  /** Name with schema, quoted if necessary. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly isSequence: boolean;
}

/** Returns all tables, views and sequences outside of Postgres' own schemas. */
export async function relationsOf(owner: DataSource): Promise<Relation[]> {
  return owner.query<Relation[]>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name, c.relkind = 'S' AS "isSequence",
       ARRAY(
         SELECT quote_ident(a.attname) FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         ORDER BY a.attnum
       ) AS columns
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname !~ '^(pg_|information_schema)'
     ORDER BY 1`,
  );
}

/** SQLSTATEs of missing privileges, and of impossible writes through views. */
const missingPrivilegeStates = ['42501', '55000', '42809'];

/**
 * Returns the privileges of a login on a relation, such as `SELECT INSERT DELETE UPDATE(a, b)`, or
 * an empty text. It tries a statement for each privilege.
 *
 * @param outcome tries a statement and returns its SQLSTATE, or another text on success.
 */
export async function probePrivileges(
  relation: Relation,
  outcome: (sql: string) => Promise<string>,
): Promise<string> {
  const { name, columns, isSequence } = relation;
  const isAllowed = async (sql: string) => !missingPrivilegeStates.includes(await outcome(sql));
  const insert = (some: readonly string[]) =>
    `INSERT INTO ${name} (${some.join(', ')}) VALUES (${some.map(() => 'DEFAULT').join(', ')})`;
  const tries: [privilege: string, sql: string][] = isSequence
    ? [
        ['nextval', `SELECT nextval('${name}')`],
        ['setval', `SELECT setval('${name}', 1)`],
        ['SELECT', `SELECT last_value FROM ${name}`],
      ]
    : [
        ['SELECT', `SELECT * FROM ${name} LIMIT 0`],
        ['INSERT', insert(columns)],
        [
          'UPDATE',
          `UPDATE ${name} SET ${columns.map((column) => `${column} = DEFAULT`).join(', ')}
           WHERE false`,
        ],
        ['DELETE', `DELETE FROM ${name} WHERE false`],
        ['TRUNCATE', `TRUNCATE ${name}`],
      ];
  const allowed: string[] = [];
  for (const [privilege, sql] of tries) if (await isAllowed(sql)) allowed.push(privilege);
  const byColumn: [privilege: string, sql: (column: string) => string][] = isSequence
    ? []
    : [
        ['SELECT', (column) => `SELECT ${column} FROM ${name} LIMIT 0`],
        ['INSERT', (column) => insert([column])],
        ['UPDATE', (column) => `UPDATE ${name} SET ${column} = DEFAULT WHERE false`],
      ];
  for (const [privilege, sql] of byColumn) {
    if (allowed.includes(privilege)) continue;
    const some: string[] = [];
    for (const column of columns) if (await isAllowed(sql(column))) some.push(column);
    if (some.length > 0) allowed.push(`${privilege}(${some.join(', ')})`);
  }
  return allowed.join(' ');
}
