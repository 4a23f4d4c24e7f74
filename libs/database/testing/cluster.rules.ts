import { tablesOfUsers } from './one.user.js';

// Rules for statements and schemas that a test without Citus can check. Each one prevents an error
// of Citus 13.2 (docs/design/adr/0053-citus-by-the-same-schema.md).

const mutable = '(?:clock_timestamp|statement_timestamp|now|random|nextval|gen_random_uuid)\\(';
const isWrite = /\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+(?:sync|subscription|episode|deletion)\./i;

/** Rules by what they forbid: each returns true for SQL about users that Citus rejects. */
const forbidden: Readonly<Record<string, (sql: string) => boolean>> = {
  'a read without columns': (sql) => /\b(?:SELECT|PERFORM)\s+FROM\b/i.test(sql),
  'a function in CASE or COALESCE of a write that is not immutable': (sql) =>
    isWrite.test(sql) &&
    (new RegExp(`\\bcoalesce\\([^()]*${mutable}`, 'i').test(sql) ||
      new RegExp(`\\bCASE\\b(?:(?!\\bEND\\b)[^])*${mutable}`, 'i').test(sql)),
  // timestamptz + interval is stable, timestamp + interval is immutable.
  'a stable function of a column in SET': (sql) =>
    /\bUPDATE\b[^;]*?\bSET\b(?:(?!\b(?:WHERE|FROM|RETURNING)\b)[^;])*\w\s*[+-]\s*interval\b/i.test(
      sql,
    ),
  'a volatile function in SET': (sql) =>
    /\bUPDATE\b[^;]*?\bSET\b(?:(?!\b(?:WHERE|FROM|RETURNING)\b)[^;])*\b(?:clock_timestamp|random|nextval|gen_random_uuid|next_stamp)\(/i.test(
      sql,
    ),
};

/** Returns the rules that SQL about users breaks: a statement, or the body of a function. */
export function faultsOf(sql: string): string[] {
  return sql
    .split(';')
    .filter((part) => tablesOfUsers(part).length > 0)
    .flatMap((part) => Object.keys(forbidden).filter((name) => forbidden[name]?.(part)));
}

/** Returns true if a statement locks rows or uses `ctid`, which Citus allows only on one node. */
export function needsOneNode(sql: string): boolean {
  return /\bFOR (?:NO KEY )?UPDATE\b|\bFOR SHARE\b|\bctid\b/i.test(sql);
}

/**
 * Returns true if a statement only calls one function of the database, without tables, conditions
 * and settings. Citus then runs the call on the node of the user.
 */
export function callsAlone(sql: string): boolean {
  const calls = sql.match(/\b(?:sync|subscription|episode|deletion)\.\w+\(/g) ?? [];
  return calls.length === 1 && !/\b(?:WITH|WHERE|JOIN|UNION)\b|set_config/i.test(sql);
}

/** Returns true if an ALTER TABLE of a migration adds a constraint together with other changes. */
export function addsConstraintsTogether(sql: string): boolean {
  return sql
    .split(';')
    .filter((part) => /\bALTER TABLE\b/i.test(part) && /\bADD CONSTRAINT\b/i.test(part))
    .some((part) => (part.match(/\b(?:ADD|DROP|ALTER|ENABLE|REPLICA)\b/gi) ?? []).length > 2);
}

const ours = `('sync', 'subscription', 'episode', 'deletion')`;

/** Queries of a schema by rule, each with a row per violation. */
export const catalogRules: Readonly<Record<string, string>> = {
  'INSERT of some columns, while others have defaults': `
    SELECT c.oid::regclass, d.grantee, a.attname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    JOIN pg_attrdef f ON f.adrelid = c.oid AND f.adnum = a.attnum
    CROSS JOIN LATERAL (
      SELECT DISTINCT x.grantee FROM pg_attribute b, aclexplode(b.attacl) x
      WHERE b.attrelid = c.oid AND x.privilege_type = 'INSERT'
    ) d
    WHERE c.relnamespace::regnamespace::text IN ${ours}
      AND NOT has_column_privilege(d.grantee, c.oid, a.attnum, 'INSERT')`,
  'a table without a key, whose shards cannot move while it is written': `
    SELECT c.oid::regclass FROM pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text IN ${ours}
      AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)`,
  'a function in SQL that reads tables of users': `
    SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE l.lanname = 'sql' AND p.pronamespace::regnamespace::text IN ${ours}
      AND p.prosrc ~ '(FROM|JOIN|UPDATE|INTO|USING)\\s+(sync|episode|subscription|deletion)\\.'`,
  'a function that takes a row of a table': `
    SELECT p.oid::regprocedure FROM pg_proc p CROSS JOIN LATERAL unnest(p.proargtypes) t (oid)
    JOIN pg_type y ON y.oid = t.oid JOIN pg_class c ON c.oid = y.typrelid AND c.relkind = 'r'
    WHERE p.pronamespace::regnamespace::text IN ${ours}`,
  'a right to a view without one to each table behind it': `
    SELECT DISTINCT v.oid::regclass, g.grantee::regrole, d.refobjid::regclass, a.attname
    FROM pg_class v CROSS JOIN LATERAL aclexplode(v.relacl) g
    JOIN pg_rewrite r ON r.ev_class = v.oid
    JOIN pg_depend d ON d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid <> v.oid
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attnum > 0
    WHERE v.relkind = 'v' AND v.relnamespace::regnamespace::text IN ${ours}
      AND g.grantee <> v.relowner
      AND NOT has_column_privilege(g.grantee, d.refobjid, a.attnum, 'SELECT')`,
  'a policy with a subquery': `
    SELECT p.polrelid::regclass, p.polname FROM pg_policy p
    WHERE concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
      ~ '\\mSELECT\\M'`,
  'a trigger': `
    SELECT t.tgrelid::regclass, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND c.relnamespace::regnamespace::text IN ${ours}`,
};
