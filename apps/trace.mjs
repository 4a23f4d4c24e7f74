// Copies what a built program loads, and nothing else, into a folder: the files of its image (apps/Dockerfile).
//   node apps/trace.mjs PROGRAM FOLDER   gateway, or standalone/token for another program than `main` of an app
// Prints what they weigh, and fails where that is more than an image may add to its base.
import { cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nodeFileTrace } from '@vercel/nft';

const [program = '', folder = ''] = process.argv.slice(2);
const [app, main = 'main'] = program.split('/');
const entry = `dist/apps/${app}/src/${main}.js`;

/** MB (1,000,000 bytes) that an image may add to its base. */
const budget = app === 'gateway' ? 120 : 80;

/** What no code names: the gateway serves the folder of Swagger UI. */
const assets = ['bundle.js', 'standalone-preset.js'].map((name) => `swagger-ui-${name}`);
const unseen = app === 'gateway' ? [...assets, 'swagger-ui.css', 'favicon-16x16.png', 'favicon-32x32.png'] : [];

const { fileList } = await nodeFileTrace([entry], { ignore: (path) => /\.(d\.[cm]?ts|map|md)$/.test(path) });
const files = [...fileList, 'package.json', ...unseen.map((name) => `node_modules/swagger-ui-dist/${name}`)];
const weights = new Map();
for (const file of new Set(files)) {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  cpSync(file, join(folder, file), { verbatimSymlinks: true });
  const [, owner = 'its own'] = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? [];
  weights.set(owner, (weights.get(owner) ?? 0) + statSync(file).size);
}
// An image starts with no shell that could put the name of its program into a command.
writeFileSync(join(folder, 'main.js'), `import './${entry}';\n`);

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const total = [...weights.values()].reduce((sum, bytes) => sum + bytes, 0);
const largest = [...weights].sort(([, a], [, b]) => b - a).slice(0, 5);
const parts = largest.map(([owner, bytes]) => `${owner} ${megabytes(bytes)}`).join(', ');
process.stdout.write(
  `${program}: ${megabytes(total)} of at most ${budget} MB in ${files.length} files (${parts}, …)\n`,
);
if (total > budget * 1e6) process.exitCode = 1;
