// Suppresses console notices of oidc-provider, because log lines are JSON. The notices warn about
// Node 20, which the tests cover, and about request bodies that issuer.ts has read. Import this
// file before oidc-provider.

const isNotice = (line: unknown) => typeof line === 'string' && line.includes('oidc-provider ');

for (const level of ['info', 'warn'] as const) {
  const writeLine = console[level].bind(console);
  console[level] = (...line: unknown[]) => {
    if (!isNotice(line[0])) writeLine(...line);
  };
}
