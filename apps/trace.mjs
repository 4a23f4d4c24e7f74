// Copies exactly the files that a built program loads into a folder: the files of its image
// (apps/Dockerfile).
//   node apps/trace.mjs PROGRAM FOLDER  a program of dist/programs, such as gateway or podcast-sync
// Adds sbom.cdx.json, a bill of materials of their packages as CycloneDX.
// Prints their size, and fails if it exceeds the budget of an image.
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nodeFileTrace } from '@vercel/nft';
import { billOfMaterials, packageIn } from './bill-of-materials.mjs';

const [program = '', folder = ''] = process.argv.slice(2);

/** Maximum MB (1,000,000 bytes) of the files that an image adds to its base image. */
const budget = 20;

/** Files of swagger-ui-dist that the page of the API reference reads. */
const assets = ['bundle.js', 'standalone-preset.js'].map((name) => `swagger-ui-${name}`);
const reference = [
  'absolute-path.js',
  'package.json',
  ...assets,
  'swagger-ui.css',
  'favicon-16x16.png',
  'favicon-32x32.png',
];
const filesIn = (place) =>
  readdirSync(place, { recursive: true })
    .map((name) => `${place}/${name}`)
    .filter((path) => statSync(path).isFile());
const consoleFiles = () => filesIn('dist/console');
const referenceFiles = () => reference.map((name) => `node_modules/swagger-ui-dist/${name}`);
/** Files by program that a program reads without an import. */
const unimported = {
  account: consoleFiles,
  gateway: referenceFiles,
  edge: () => [...consoleFiles(), ...referenceFiles()],
  'deletion-worker': () => [
    'node_modules/@bull-board/ui/package.json',
    ...filesIn('node_modules/@bull-board/ui/dist'),
  ],
};

/** The program, the command line, and the process that `feed` starts. */
const programs = [...new Set([program, 'podcast-sync'])];
if (program === 'feed') programs.push('thumbnail-process');

const { fileList } = await nodeFileTrace(
  programs.map((name) => `dist/programs/${name}.js`),
  {
    ignore: (path) => /\.(d\.[cm]?ts|map|md)$/.test(path),
  },
);
const files = [...fileList, 'package.json', ...(unimported[program]?.() ?? [])];
const weights = new Map();
const bundled = JSON.parse(readFileSync('dist/programs/packages.json', 'utf8'));
const packages = new Set(programs.flatMap((name) => bundled[name]));
if (['account', 'edge'].includes(program))
  for (const root of JSON.parse(readFileSync('dist/console.packages.json', 'utf8')))
    packages.add(root);
for (const file of new Set(files)) {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  cpSync(file, join(folder, file), { verbatimSymlinks: true });
  const [, owner = 'its own'] = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? [];
  weights.set(owner, (weights.get(owner) ?? 0) + statSync(file).size);
  const [root] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
  if (root !== undefined) packages.add(root);
}
// An image has no shell that could insert the program's name into a command.
writeFileSync(join(folder, 'main.js'), `import './dist/programs/${program}.js';\n`);

const materials = billOfMaterials(`podcast-sync/${program}`, new Set([...packages].map(packageIn)));
writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(materials, undefined, 2)}\n`);

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const total = [...weights.values()].reduce((sum, bytes) => sum + bytes, 0);
const largest = [...weights].sort(([, a], [, b]) => b - a).slice(0, 5);
const parts = largest.map(([owner, bytes]) => `${owner} ${megabytes(bytes)}`).join(', ');
process.stdout.write(
  `${program}: ${megabytes(total)} of at most ${budget} MB in ${files.length} files ` +
    `(${parts}, …)\n`,
);
if (total > budget * 1e6) process.exitCode = 1;
