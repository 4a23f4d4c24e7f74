import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { appPrograms, type ProgramOptions } from './app-programs.js';
import { Outages } from './outages.js';

let data: string;
beforeEach(() => (data = mkdtempSync(join(tmpdir(), 'app-programs-'))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(data, { recursive: true, force: true });
});

/** Returns the variable DATABASE_POOL_SIZE of each service, and of the edge at last. */
function poolSizes(options: Partial<ProgramOptions>): (string | undefined)[] {
  const { services, edge } = appPrograms(
    {
      postgresUrl: 'postgres://owner:secret@127.0.0.1:1/podcast_sync',
      redisUrl: 'redis://127.0.0.1:1',
      canCreateRoles: true,
      isPostgresEmbedded: true,
      data,
      host: '127.0.0.1',
      port: 3000,
      baseUrl: 'http://127.0.0.1:3000',
      publicUrl: undefined,
      replicas: 1,
      feeds: 'fetched',
      logLevel: 'info',
      printLine: () => {},
      outages: new Outages(
        () => {},
        () => false,
      ),
      ...options,
    },
    data,
  );
  return [...services, edge].map(({ environment }) => environment['DATABASE_POOL_SIZE']);
}

describe('the pools of services', () => {
  it.each([
    [7, undefined],
    [8, '8'],
    [32, '2'],
  ])('fit the embedded Postgres with %i replicas', (replicas, size) => {
    const sizes = poolSizes({ replicas });
    expect(sizes.at(-1)).toBeUndefined();
    expect(sizes.slice(0, -1)).toEqual(Array.from({ length: 4 * replicas }, () => size));
    // Of 300: 10 of the edge, 4 of `migrate` and 3 of the superuser leave 283.
    expect(4 * replicas * Number(size ?? 10)).toBeLessThanOrEqual(283);
  });

  it('have the size that the operator sets, and the default on another Postgres', () => {
    const replicas = 8;
    expect(new Set(poolSizes({ replicas, isPostgresEmbedded: false }))).toEqual(
      new Set([undefined]),
    );
    vi.stubEnv('DATABASE_POOL_SIZE', '5');
    expect(new Set(poolSizes({ replicas }))).toEqual(new Set([undefined]));
  });
});
