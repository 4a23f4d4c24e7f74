const schemas = '(?:sync|subscription|episode|deletion)';
/** A mention of a table: its keyword, its name, and its alias. */
const table = new RegExp(
  `(?:\\b(FROM|JOIN|UPDATE|USING|INTO)|(,))\\s+(${schemas}\\.\\w+)\\b(?!\\()` +
    '(?:\\s+(?:AS\\s+)?(?!(?:WHERE|SET|ON|USING|JOIN|LEFT|CROSS|ORDER|LIMIT|RETURNING|FOR)\\b)(\\w+))?',
  'gi',
);

function mentionsOf(sql: string) {
  return [...sql.matchAll(table)]
    .map(([, keyword, , name = '', alias]) => ({
      name,
      alias,
      isInsert: /INTO/i.test(keyword ?? ''),
    }))
    .filter(({ name }) => name !== 'sync.migrations');
}

/** Returns the tables with users' rows that a statement uses, once per mention. */
export function tablesOfUsers(sql: string): string[] {
  return mentionsOf(sql).map(({ name }) => name);
}

/**
 * Returns true if a statement compares the `user_id` of each table of users directly with the user,
 * or inserts the user. A comparison with the `user_id` of another table does not suffice, because
 * Citus does not pass the value on into subqueries.
 *
 * @param user the SQL of the user's id: `$1`, an argument, or `ANY (v_users)` for a set of users.
 */
export function isOfOneUser(sql: string, user: string): boolean {
  const name = `${user.replace(/[$().]/g, String.raw`\$&`)}(?!\\w)`;
  const count = (pattern: string) => (sql.match(new RegExp(pattern, 'g')) ?? []).length;
  const mentions = mentionsOf(sql);
  const inserts = mentions.filter(({ isInsert }) => isInsert).length;
  const inserted = count(`\\(\\s*user_id,[^()]*\\)\\s*(?:SELECT|VALUES\\s*\\()\\s*${name}`);
  const aliases = mentions.filter(({ isInsert }) => !isInsert).map(({ alias }) => alias);
  return (
    inserted >= inserts &&
    [...new Set(aliases)].every((alias) => {
      const bound = alias === undefined ? '(?<![\\w.])user_id' : `(?<!\\w)${alias}\\.user_id`;
      const uses = aliases.filter((other) => other === alias).length;
      return count(`${bound} = ${name}`) >= uses;
    })
  );
}
