// Bundles every program of the built apps into dist/programs: `node dist/programs/gateway.js`.
// A program loads some two thousand small files from node_modules, which costs most of the time in which it starts; from
// a few large files it starts in a third of that. What several programs load they share.
// Beside them, packages.json: which packages are bundled in each program, for the bill of materials (apps/trace.mjs).
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
  edge: 'edge/src/main',
  'podcast-sync': 'cli/src/main',
};

/** Packages that find files of theirs on disk, and so stay there. */
const onDisk = [/^@bull-board\//, /^swagger-ui-dist/, /^@node-rs\/argon2/];

/** Parts that Nest, TypeORM and others load only where they are installed; said by no other code than this. */
const expected = new Set(['UNRESOLVED_IMPORT', 'EVAL']);

const bundle = await rolldown({
  input: Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, `dist/apps/${path}.js`])),
  platform: 'node',
  external: onDisk,
  onLog(level, log, pass) {
    if (!(expected.has(log.code) && /node_modules/.test(log.message))) pass(level, log);
  },
});
// Programs that run, or start just now, load from the folder: each file is replaced as a whole, those that others load first.
const fresh = `${folder}.${process.pid}`;
rmSync(fresh, { recursive: true, force: true });
const { output } = await bundle.write({ dir: fresh, format: 'esm', keepNames: true, strictExecutionOrder: true });
await bundle.close();
mkdirSync(folder, { recursive: true });
for (const { fileName } of output.toSorted(
  (one, other) => Number(one.isEntry ?? false) - Number(other.isEntry ?? false),
))
  renameSync(join(fresh, fileName), join(folder, fileName));
const written = new Set(output.map(({ fileName }) => fileName));
for (const name of readdirSync(folder)) if (!written.has(name)) rmSync(join(folder, name), { recursive: true });
rmSync(fresh, { recursive: true });

const chunks = new Map(output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]));

/** The chunks that one loads, itself among them. */
function loads(name, found = new Set()) {
  if (!chunks.has(name) || found.has(name)) return found;
  found.add(name);
  const { imports, dynamicImports } = chunks.get(name);
  for (const next of [...imports, ...dynamicImports]) loads(next, found);
  return found;
}

/** The folder of the package that a file is of. What a package carries of another one without its manifest is its own. */
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
writeFileSync(join(folder, 'packages.json'), `${JSON.stringify(packages, undefined, 2)}\n`);
