const table =
  /(?:\b(?:FROM|JOIN|UPDATE|USING|INTO)|,)\s+((?:sync|subscription|episode|deletion)\.\w+)\b(?!\()/gi;

/** Returns the tables with users' rows that a statement uses, once per mention. */
export function tablesOfUsers(sql: string): string[] {
  return [...sql.matchAll(table)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'sync.migrations');
}

/**
 * Returns true if a statement restricts each table with users' rows to one user: its `user_id` is
 * compared with the user's or another row's, or inserted.
 *
 * @param user the SQL of the user's id: `$1`, or an argument.
 */
export function isOfOneUser(sql: string, user: string): boolean {
  const name = user.replace('$', '\\$');
  const count = (pattern: string) => (sql.match(new RegExp(pattern, 'g')) ?? []).length;
  const said =
    count(`user_id = ${name}\\b`) +
    count(`\\(\\s*user_id,[^()]*\\)\\s*(?:SELECT|VALUES \\() *${name}\\b`);
  const tables = tablesOfUsers(sql).length;
  return tables === 0 || (said > 0 && said + count('user_id = \\w+\\.user_id') >= tables);
}
