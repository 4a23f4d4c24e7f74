import { defineConfig } from 'vitest/config';

const conditions = ['podcast-sync', 'node'];

/** Three tiers (see docs/architecture.md): `unit` touches nothing outside the process, `int` real servers, `e2e` HTTP only;
 * `after` looks at what `e2e` leaves behind. One after another, so that none disturbs the time that another measures; a
 * process for each file of `int` only, as a new one takes longer than most files. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          sequence: { groupOrder: 0 },
          include: ['{apps,libs,k8s}/**/*.spec.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'int',
          sequence: { groupOrder: 1 },
          include: ['{apps,libs,bench,k8s}/**/*.int-spec.ts'],
          globalSetup: ['libs/testing/src/servers.setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          sequence: { groupOrder: 2 },
          include: ['e2e/**/*.e2e-spec.ts'],
          isolate: false,
          globalSetup: ['libs/testing/src/stack.setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'after',
          sequence: { groupOrder: 3 },
          include: ['libs/**/*.after-spec.ts'],
        },
      },
    ],
  },
});
