// Builds the package podcast-sync-client into dist/client, ready for `npm pack ./dist/client` and
// `npm publish ./dist/client`.
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';

const target = 'dist/client';

rmSync(target, { recursive: true, force: true });
for (const config of ['tsconfig.browser.json', 'tsconfig.json']) {
  execFileSync('node_modules/.bin/tsc', ['-p', `libs/client/${config}`], { stdio: 'inherit' });
}
for (const file of ['libs/client/package.json', 'libs/client/README.md', 'LICENSE']) {
  copyFileSync(file, `${target}/${file.split('/').at(-1)}`);
}
