// Bundles every program of the built apps into dist/programs: `node dist/programs/gateway.js`.
// Loading some two thousand small files from node_modules takes most of a program's start time; a
// few large files take a third of that. Programs share common chunks.
// Also writes packages.json: the packages in each program, for the bill of materials
// (apps/trace.mjs), and in `external` the packages that are not bundled (apps/release.mjs).
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';

const folder = 'dist/programs';

const programs = {
  gateway: 'gateway/src/main',
  gpodder: 'gpodder/src/main',
  subscription: 'subscription/src/main',
  episode: 'episode/src/main',
  'deletion-worker': 'deletion-worker/src/main',
  account: 'account/src/main',
  feed: 'feed/src/main',
  // A process that `feed` starts.
  'thumbnail-process': 'feed/src/artwork/thumbnail-process',
  edge: 'edge/src/main',
  'podcast-sync': 'cli/src/main',
  // A process that `podcast-sync start` starts.
  'variables-check': 'cli/src/variables-check',
};

/** Packages that read their own files from disk and so cannot be bundled. */
const external = [
  '@bull-board/api',
  '@bull-board/fastify',
  '@node-rs/argon2',
  'swagger-ui-dist',
  'wasm-vips',
];

/** Warnings that are ignored for packages: their optional modules can be missing, some use eval. */
const ignoredWarnings = new Set(['UNRESOLVED_IMPORT', 'EVAL']);

const bundle = await rolldown({
  input: Object.fromEntries(
    Object.entries(programs).map(([name, path]) => [name, `dist/apps/${path}.js`]),
  ),
  platform: 'node',
  external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
  onLog(level, log, pass) {
    if (!(ignoredWarnings.has(log.code) && /node_modules/.test(log.message))) pass(level, log);
  },
});
// Running and starting programs load from the folder: each file is replaced atomically, chunks
// before the programs that import them.
const newFolder = `${folder}.${process.pid}`;
rmSync(newFolder, { recursive: true, force: true });
const { output } = await bundle.write({
  dir: newFolder,
  format: 'esm',
  keepNames: true,
  strictExecutionOrder: true,
  // Docstrings would be 8 % of the bytes of an image.
  comments: { legal: true, annotation: false, jsdoc: false },
});
await bundle.close();
mkdirSync(folder, { recursive: true });
for (const { fileName } of output.toSorted(
  (one, other) => Number(one.isEntry ?? false) - Number(other.isEntry ?? false),
))
  renameSync(join(newFolder, fileName), join(folder, fileName));
const written = new Set(output.map(({ fileName }) => fileName));
for (const name of readdirSync(folder))
  if (!written.has(name)) rmSync(join(folder, name), { recursive: true });
rmSync(newFolder, { recursive: true });

const chunks = new Map(
  output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]),
);

/** Returns the files that a file imports, directly or indirectly, and the file itself. */
function importsOf(name, found = new Set()) {
  if (!chunks.has(name) || found.has(name)) return found;
  found.add(name);
  const { imports, dynamicImports } = chunks.get(name);
  for (const next of [...imports, ...dynamicImports]) importsOf(next, found);
  return found;
}

/**
 * Returns the folder of the package that contains a file; `undefined` outside of node_modules. A
 * vendored package without package.json counts as a part of the package around it.
 */
function packageOf(file) {
  const [root] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
  if (root === undefined || existsSync(join(root, 'package.json'))) return root;
  return packageOf(dirname(root.slice(0, root.lastIndexOf('node_modules/'))));
}

const packagesOf = (name) => {
  const modules = [...importsOf(`${name}.js`)].flatMap((chunk) => chunks.get(chunk).moduleIds);
  const roots = modules.map((module) => packageOf(relative('.', module)));
  return [...new Set(roots.filter((root) => root !== undefined))].sort();
};
const packages = Object.fromEntries(Object.keys(programs).map((name) => [name, packagesOf(name)]));
packages.external = external;
writeFileSync(join(folder, 'packages.json'), `${JSON.stringify(packages, undefined, 2)}\n`);
