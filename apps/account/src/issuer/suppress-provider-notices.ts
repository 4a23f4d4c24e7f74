// Suppresses console notices of oidc-provider, since log lines are JSON. They warn about Node 20,
// which the tests cover, and parsed bodies (issuer.ts). Import this file before oidc-provider.

const isNotice = (line: unknown) => typeof line === 'string' && line.includes('oidc-provider ');

for (const level of ['info', 'warn'] as const) {
  const write = console[level].bind(console);
  console[level] = (...line: unknown[]) => {
    if (!isNotice(line[0])) write(...line);
  };
}
