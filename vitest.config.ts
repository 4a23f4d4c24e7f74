import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

const conditions = ['podcast-sync', 'node'];

/**
 * `TEST_FULL=1` adds what `npm test` omits: full counts, and slow suites such as fault walks, large
 * data and measurements. It leaves out files that do not read `TEST_FULL`.
 */
const full = Boolean(process.env.TEST_FULL);

/** Two busy loops next to the run, with `BUSY=1`. */
const busy = 'libs/testing/src/busy-setup.ts';

const folders = ['apps', 'libs', 'tests', 'bench', 'k8s', 'e2e', 'conformance'];
const sources = `{${folders.join()}}/**/*`;

/** Returns the files of a kind: all, or with full counts those that then do more. */
function specs(kind: 'spec' | 'int-spec' | 'e2e-spec'): string[] {
  if (!full) return [`${sources}.${kind}.ts`];
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  return files.filter(
    (file) => file.endsWith(`.${kind}.ts`) && readFileSync(file, 'utf8').includes('TEST_FULL'),
  );
}

/** Tests on the servers of a run. Files run in parallel: they mostly wait for other processes. */
const onServers = {
  isolate: false,
  globalSetup: [busy, 'libs/testing/src/servers-setup.ts'],
  testTimeout: 120_000,
  hookTimeout: 300_000,
  maxWorkers: 3,
};

/**
 * Three tiers (see CONTRIBUTING.md), one after another: `unit` uses its process alone, `int` uses
 * real servers, and `e2e` HTTP. `after` checks the database after `e2e`. The other projects need
 * programs of the machine, and are run by name.
 */
const projects: TestProjectConfiguration[] = [
  {
    test: {
      name: 'unit',
      sequence: { groupOrder: 0 },
      include: specs('spec'),
      isolate: false,
      maxWorkers: 2,
      globalSetup: [busy],
      // For properties with full counts on a busy machine.
      testTimeout: 120_000,
    },
  },
  {
    test: {
      ...onServers,
      name: 'int',
      sequence: { groupOrder: 1 },
      include: specs('int-spec'),
      // With full counts the tests use more CPU themselves.
      maxWorkers: full ? 2 : 4,
    },
  },
  {
    test: {
      ...onServers,
      name: 'full',
      sequence: { groupOrder: 9 },
      include: full ? ['{apps,libs,tests,bench}/**/*.full-spec.ts'] : [],
      // A skipped case counts as failed in .ci/full, which says that no cluster was there.
      exclude: process.env.CITUS_URL ? [] : ['tests/system/citus.full-spec.ts'],
      // They measure, or cause faults in their own servers, so they run alone.
      maxWorkers: 1,
    },
  },
  {
    test: {
      name: 'e2e',
      sequence: { groupOrder: 2 },
      include: [...specs('e2e-spec'), ...(full ? ['e2e/**/*.full-spec.ts'] : [])],
      isolate: false,
      maxWorkers: full ? 1 : 3,
      globalSetup: [busy, 'libs/testing/src/stack-setup.ts'],
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  },
  { test: { name: 'after', sequence: { groupOrder: 3 }, include: ['libs/**/*.after-spec.ts'] } },
  {
    test: {
      name: 'k8s',
      sequence: { groupOrder: 4 },
      include: ['k8s/**/*.k8s-spec.ts'],
      // They compile manifests, and fetch promtool the first time.
      testTimeout: 120_000,
      hookTimeout: 300_000,
    },
  },
  {
    test: {
      ...onServers,
      name: 'release',
      sequence: { groupOrder: 5 },
      include: ['tests/**/*.release-spec.ts'],
    },
  },
  {
    test: {
      ...onServers,
      name: 'browser',
      sequence: { groupOrder: 7 },
      include: ['{apps,tests}/**/*.browser-spec.ts'],
    },
  },
  {
    test: {
      ...onServers,
      name: 'clients',
      sequence: { groupOrder: 8 },
      include: ['tests/**/*.clients-spec.ts'],
      // They run real programs: Debian podcast apps, and npm, which packs and installs the SDK.
      maxWorkers: 1,
    },
  },
  {
    test: {
      name: 'docker',
      sequence: { groupOrder: 6 },
      include: ['tests/**/*.docker-spec.ts'],
      // Each runs a whole system in containers.
      maxWorkers: 1,
    },
  },
];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { projects: projects.map((project) => ({ extends: true, ...(project as object) })) },
});
