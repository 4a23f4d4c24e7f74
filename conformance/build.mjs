// Builds the package podcast-sync-conformance into dist/conformance, ready for
// `npm pack ./dist/conformance` and `npm publish ./dist/conformance`.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';

const target = 'dist/conformance';

rmSync(target, { recursive: true, force: true });
execFileSync('node_modules/.bin/tsc', ['-p', 'conformance/tsconfig.json'], { stdio: 'inherit' });
for (const file of ['package.json', 'README.md', 'vector.schema.json', 'vectors'])
  cpSync(`conformance/${file}`, `${target}/${file}`, { recursive: true });
cpSync('LICENSE', `${target}/LICENSE`);
