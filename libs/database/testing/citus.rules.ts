import { isOfOneUser, tablesOfUsers } from './user-restriction.js';

// Rules for statements and schemas that a test without Citus can check. Each one prevents an error
// of Citus 13.2 (docs/design/adr/0053-citus-by-the-same-schema.md).

const volatile = '(?:clock_timestamp|random|nextval|gen_random_uuid|next_stamp|new_id)\\(';
const mutable = `(?:${volatile}|(?:statement_timestamp|now)\\()`;
const isInsert = /\bINSERT INTO\s+(?:sync|subscription|episode|deletion)\./i;
const isChange = /\b(?:UPDATE|DELETE FROM)\s+(?:sync|subscription|episode|deletion)\./i;
const matches = (pattern: string) => {
  const found = new RegExp(pattern, 'i');
  return (sql: string) => found.test(sql);
};
const isLazy = matches(
  `\\bcoalesce\\((?:[^()]|\\([^()]*\\))*${mutable}|\\bCASE\\b(?:(?!\\bEND\\b)[^])*${mutable}`,
);
const isVolatile = matches(`\\b${volatile}`);

/** Rules by what they forbid: each returns true for SQL about users that Citus rejects. */
const forbidden: Readonly<Record<string, (sql: string) => boolean>> = {
  'a read without columns': matches('\\b(?:SELECT|PERFORM)\\s+FROM\\b'),
  'a function in CASE or COALESCE of a write that is not immutable': (sql) =>
    (isInsert.test(sql) || isChange.test(sql)) && isLazy(sql),
  'a function in DO UPDATE or RETURNING that is not immutable': matches(
    `\\b(?:DO UPDATE\\s+SET|RETURNING)\\b[^;]*\\b${mutable}`,
  ),
  'a volatile function in UPDATE or DELETE': (sql) => isChange.test(sql) && isVolatile(sql),
  // timestamptz + interval is stable, timestamp + interval is immutable.
  'a stable function of a column in UPDATE or DELETE': (sql) =>
    isChange.test(sql) && /\w\s*[+-]\s*interval\b/i.test(sql),
  // Not an error, but Citus then runs each CTE separately and copies its rows to all nodes.
  'an INSERT together with an UPDATE or DELETE': (sql) => isInsert.test(sql) && isChange.test(sql),
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
 * Returns the statements of a function for all users that access nodes of other users than those
 * that it has read (`v_due`, `v_lost`, `v_users`), or lock rows of several users.
 */
export function unboundStatements(body: string): string[] {
  const one = ['v_due.user_id', 'v_lost.user_id'];
  return body.split(';').filter((part) => {
    const users = needsOneNode(part) ? one : [...one, 'ANY (v_users)'];
    return !users.some((user) => isOfOneUser(part, user));
  });
}

/** Returns true if SQL uses tables that only the coordinator of a Citus cluster has. */
export function needsCoordinator(sql: string): boolean {
  return /\b(?:FROM|JOIN|UPDATE|INTO|USING)\s+(?:account|feed)\.\w/i.test(sql);
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
