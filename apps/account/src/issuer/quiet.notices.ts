/**
 * Removes console notices of oidc-provider from the log, whose lines are JSON. The notices are
 * about Node 20, which the tests cover, and about parsed bodies, which issuer.ts passes on purpose.
 * Import this file before oidc-provider.
 */
const isNotice = (line: unknown) => typeof line === 'string' && line.includes('oidc-provider ');

for (const level of ['info', 'warn'] as const) {
  const write = console[level].bind(console);
  console[level] = (...line: unknown[]) => {
    if (!isNotice(line[0])) write(...line);
  };
}
