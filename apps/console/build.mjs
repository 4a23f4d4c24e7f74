// Builds the console into dist/console, which apps/account serves. Files have content hashes in
// their names and compressed copies. Prints the size of the JavaScript that a browser loads before
// the first row, and fails if it exceeds the budget.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';

/** Maximum bytes of gzipped JavaScript that a browser loads before the first row. */
const maxInitialBytes = 40_000;

const here = import.meta.dirname;
const folder = resolve(here, '../../dist/console');

const { output } = await build({
  configFile: false,
  root: here,
  base: '/console/',
  logLevel: 'warn',
  resolve: { conditions: ['podcast-sync', 'browser', 'module', 'import'] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: folder,
    // The pages of apps/account load the two scripts.
    rolldownOptions: {
      input: ['index.html', 'src/site.ts', 'src/passkey.ts'].map((name) => join(here, name)),
    },
    emptyOutDir: true,
    target: 'es2022',
    // No polyfill: all supported browsers preload modules, and it would be one more script.
    modulePreload: { polyfill: false },
    // Keeps the icon a file, which browsers cache, and not a `data:` URL in each document.
    assetsInlineLimit: 0,
    sourcemap: false,
    // Account pages read the paths of stylesheet and icon in it (site-assets.ts of apps/account).
    manifest: 'manifest.json',
  },
});

for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (!/\.(html|js|css|svg)$/.test(name)) continue;
  const path = join(folder, name);
  const bytes = readFileSync(path);
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  );
}

// Lists the bundled npm packages for the bill of materials (apps/trace.mjs).
const roots = output
  .flatMap((chunk) => Object.keys(chunk.modules ?? {}))
  .map((module) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative('.', module))?.[0]);
const packages = [...new Set(roots.filter((root) => root !== undefined))].sort();
writeFileSync(`${folder}.packages.json`, `${JSON.stringify(packages, undefined, 2)}\n`);

const chunks = new Map(
  output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]),
);
const entry = output.find(({ facadeModuleId }) => facadeModuleId?.endsWith('index.html'));
const size = (name) => gzipSync(readFileSync(join(folder, name)), { level: 9 }).length;
const sum = (names) => [...names].reduce((bytes, name) => bytes + size(name), 0);
const first = new Set();
(function addWithImports(name) {
  if (first.has(name) || !chunks.has(name)) return;
  first.add(name);
  chunks.get(name).imports.forEach(addWithImports);
})(entry.fileName);
const later = [...chunks.keys()].filter((name) => !first.has(name));
const kB = (bytes) => `${(bytes / 1_000).toFixed(1)} kB`;
process.stdout.write(
  `console: ${kB(sum(first))} of JavaScript (gzip) before the first row, ` +
    `of at most ${kB(maxInitialBytes)}; ${kB(sum(later))} more on other pages\n`,
);
if (sum(first) > maxInitialBytes) {
  process.stderr.write(
    `The first page has more than ${kB(maxInitialBytes)}: load code later, or remove it.\n`,
  );
  process.exitCode = 1;
}
