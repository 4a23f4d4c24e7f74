// Bundles every program of the built apps into dist/programs: `node dist/programs/gateway.js`.
// Loading some two thousand small files from node_modules takes most of a program's start time; a
// few large files take a third of that. Programs share common chunks.
// Also writes packages.json with the packages of each program, for the bill of materials
// (apps/trace.mjs), and `external`, those that are not bundled (apps/release.mjs).
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
  'thumbnail.process': 'feed/src/artwork/thumbnail.process',
  edge: 'edge/src/main',
  'podcast-sync': 'cli/src/main',
};

/** Packages that read their own files from disk and so cannot be bundled. */
const external = [
  '@bull-board/api',
  '@bull-board/fastify',
  '@node-rs/argon2',
  'swagger-ui-dist',
  'wasm-vips',
];

/** Optional modules of Nest, TypeORM and others may be missing; such warnings are ignored. */
const expected = new Set(['UNRESOLVED_IMPORT', 'EVAL']);

const bundle = await rolldown({
  input: Object.fromEntries(
    Object.entries(programs).map(([name, path]) => [name, `dist/apps/${path}.js`]),
  ),
  platform: 'node',
  external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
  onLog(level, log, pass) {
    if (!(expected.has(log.code) && /node_modules/.test(log.message))) pass(level, log);
  },
});
// Running and starting programs load from the folder: each file is replaced atomically, chunks
// before the programs that import them.
const fresh = `${folder}.${process.pid}`;
rmSync(fresh, { recursive: true, force: true });
const { output } = await bundle.write({
  dir: fresh,
  format: 'esm',
  keepNames: true,
  strictExecutionOrder: true,
});
await bundle.close();
mkdirSync(folder, { recursive: true });
for (const { fileName } of output.toSorted(
  (one, other) => Number(one.isEntry ?? false) - Number(other.isEntry ?? false),
))
  renameSync(join(fresh, fileName), join(folder, fileName));
const written = new Set(output.map(({ fileName }) => fileName));
for (const name of readdirSync(folder))
  if (!written.has(name)) rmSync(join(folder, name), { recursive: true });
rmSync(fresh, { recursive: true });

const chunks = new Map(
  output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]),
);

function loads(name, found = new Set()) {
  if (!chunks.has(name) || found.has(name)) return found;
  found.add(name);
  const { imports, dynamicImports } = chunks.get(name);
  for (const next of [...imports, ...dynamicImports]) loads(next, found);
  return found;
}

/** Returns the package folder of a file. A vendored package without a manifest is its host's. */
function packageOf(file) {
  const [root] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
  if (root === undefined || existsSync(join(root, 'package.json'))) return root;
  return packageOf(dirname(root.slice(0, root.lastIndexOf('node_modules/'))));
}

const packagesOf = (name) => {
  const modules = [...loads(`${name}.js`)].flatMap((chunk) => chunks.get(chunk).moduleIds);
  const roots = modules.map((module) => packageOf(relative('.', module)));
  return [...new Set(roots.filter((root) => root !== undefined))].sort();
};
const packages = Object.fromEntries(Object.keys(programs).map((name) => [name, packagesOf(name)]));
packages.external = external;
writeFileSync(join(folder, 'packages.json'), `${JSON.stringify(packages, undefined, 2)}\n`);
