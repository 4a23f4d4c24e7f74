import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

const conditions = ['podcast-sync', 'node'];

/** With full counts, and with what is slow by nature: fault walks, large data, measurements. */
const full = Boolean(process.env.TEST_FULL);

/** Two busy loops beside the run, with `BUSY=1`. */
const busy = 'libs/testing/src/busy.setup.ts';

const sources = '{apps,libs,tests,bench,k8s}/**/*';

/** Tests on the servers of a run, several files side by side: most of their time goes by in other processes. */
const onServers = {
  isolate: false,
  globalSetup: [busy, 'libs/testing/src/servers.setup.ts'],
  testTimeout: 120_000,
  hookTimeout: 300_000,
  maxWorkers: full ? 1 : 3,
};

/** Three tiers (see docs/architecture.md): `unit` touches nothing outside the process, `int` real servers, `e2e` HTTP only;
 * `after` looks at what `e2e` leaves behind. One after another. The other projects need something of the machine, and
 * are run by name. */
const projects: TestProjectConfiguration[] = [
  {
    test: {
      name: 'unit',
      sequence: { groupOrder: 0 },
      include: [`${sources}.spec.ts`],
      isolate: false,
      maxWorkers: 2,
      globalSetup: [busy],
      // For properties with full counts, on a machine that has other things to do.
      testTimeout: 120_000,
    },
  },
  {
    test: {
      ...onServers,
      name: 'int',
      sequence: { groupOrder: 1 },
      include: [`${sources}.int-spec.ts`, ...(full ? [`${sources}.full-spec.ts`] : [])],
    },
  },
  {
    test: {
      name: 'e2e',
      sequence: { groupOrder: 2 },
      include: ['e2e/**/*.e2e-spec.ts', ...(full ? ['e2e/**/*.full-spec.ts'] : [])],
      isolate: false,
      maxWorkers: full ? 1 : 2,
      globalSetup: [busy, 'libs/testing/src/stack.setup.ts'],
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  },
  { test: { name: 'after', sequence: { groupOrder: 3 }, include: ['libs/**/*.after-spec.ts'] } },
  { test: { name: 'k8s', sequence: { groupOrder: 4 }, include: ['k8s/**/*.k8s-spec.ts'] } },
  { test: { ...onServers, name: 'release', sequence: { groupOrder: 5 }, include: ['tests/**/*.release-spec.ts'] } },
  { test: { name: 'docker', sequence: { groupOrder: 6 }, include: ['tests/**/*.docker-spec.ts'] } },
];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { projects: projects.map((project) => ({ extends: true, ...(project as object) })) },
});
