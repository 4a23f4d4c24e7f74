/**
 * Keeps what oidc-provider says on the console out of the log, whose lines are JSON. It says that Node 20 is not supported,
 * where the tests here say that it works, and that somebody else has read a body, which is meant so (issuer.ts).
 * To be imported before it.
 */
const isNotice = (line: unknown) => typeof line === 'string' && line.includes('oidc-provider ');

for (const level of ['info', 'warn'] as const) {
  const write = console[level].bind(console);
  console[level] = (...line: unknown[]) => {
    if (!isNotice(line[0])) write(...line);
  };
}
