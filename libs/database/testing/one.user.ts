const table =
  /(?:\b(?:FROM|JOIN|UPDATE|USING|INTO)|,)\s+((?:sync|subscription|episode|deletion)\.\w+)\b(?!\()/gi;

/** The tables with users' rows that some SQL reads or writes; one that it names twice is there twice. */
export function tablesOfUsers(sql: string): string[] {
  return [...sql.matchAll(table)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'sync.migrations');
}

/**
 * Whether some SQL says of each table with users' rows whose rows it means: that its `user_id` is the user's, or that of
 * another row which is, or that rows are added with it.
 *
 * @param user how the SQL calls the user: `$1`, or an argument.
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
