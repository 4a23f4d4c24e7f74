import type { DataSource } from 'typeorm';

/** Lists all objects of a migration outside of system schemas with their rights, one per line. */
const everything = `
  WITH ours AS (SELECT oid, nspname, nspowner, nspacl FROM pg_namespace
  WHERE nspname !~ '^(pg_|information_schema|public)')
  SELECT format('schema %s', nspname) AS line FROM ours
  UNION ALL
  SELECT format('schema %s: %s %s', nspname, a.grantee::regrole, a.privilege_type)
  FROM ours, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) a
  UNION ALL
  SELECT format('%s %s %s', c.relkind, n.nspname, c.relname) FROM pg_class c
  JOIN ours n ON n.oid = c.relnamespace
  UNION ALL
  SELECT format('%s %s: %s %s', n.nspname, c.relname, a.grantee::regrole, a.privilege_type)
  FROM pg_class c JOIN ours n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
  UNION ALL
  SELECT format('column %s.%s.%s %s %s %s %s', n.nspname, c.relname, a.attname,
    format_type(a.atttypid, a.atttypmod),
    a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
    ARRAY(SELECT g::text FROM unnest(a.attacl) g ORDER BY 1))
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN ours n ON n.oid = c.relnamespace
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT format('index %s', indexdef) FROM pg_indexes JOIN ours ON nspname = schemaname
  UNION ALL
  SELECT format('constraint %s %s', x.conname, pg_get_constraintdef(x.oid)) FROM pg_constraint x
  JOIN ours n ON n.oid = x.connamespace
  UNION ALL
  SELECT format('trigger %s', pg_get_triggerdef(t.oid)) FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
    JOIN ours n ON n.oid = c.relnamespace
    WHERE NOT t.tgisinternal
  UNION ALL
  SELECT format('row security %s.%s %s', n.nspname, c.relname, c.relrowsecurity)
  FROM pg_class c JOIN ours n ON n.oid = c.relnamespace WHERE c.relkind = 'r'
  UNION ALL
  SELECT format('policy %s', p) FROM pg_policies p JOIN ours n ON n.nspname = p.schemaname
  UNION ALL
  SELECT format('function %s %s %s %s', p.oid::regprocedure, p.prosrc, p.prosecdef, p.proconfig)
  FROM pg_proc p JOIN ours n ON n.oid = p.pronamespace
  UNION ALL
  SELECT format('function %s: %s %s', p.oid::regprocedure, a.grantee::regrole, a.privilege_type)
  FROM pg_proc p JOIN ours n ON n.oid = p.pronamespace,
    aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
  UNION ALL
  SELECT format('type %s.%s', n.nspname, t.typname) FROM pg_type t
  JOIN ours n ON n.oid = t.typnamespace
  ORDER BY 1`;

/** Returns the state of a database's schema for comparisons. */
export async function catalog(dataSource: DataSource): Promise<string[]> {
  const rows = await dataSource.query<{ line: string }[]>(everything);
  return rows.map(({ line }) => line);
}
