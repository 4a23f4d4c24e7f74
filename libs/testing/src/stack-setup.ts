import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { LaunchedSystem, repository } from './launched-system.js';
import { openRunDirectory, removeRunDirectory } from './run-directory.js';

/** Values that the `e2e` tier provides to its tests. */
interface Stack {
  baseUrl: string;
  /** Folder of the token signing keys. */
  keys: string;
  /** `iss` of the tokens. */
  issuer: string;
  /** True if the system was started for this run, on this machine. */
  launched: boolean;
  /** URL of the system's database; only if the system was started for this run. */
  database?: string;
}

declare module 'vitest' {
  // Adds a property to the interface of Vitest, which is declared for this purpose.
  interface ProvidedContext {
    stack: Stack;
  }
}

/** Web origin that the system under test allows. A system at `BASE_URL` must allow it too. */
const allowedOrigin = 'https://app.example';

const replicas = 2;

/**
 * Provides the system under test once per run of the `e2e` tier. By default this is the built
 * system with two replicas of each service. `BASE_URL` names another system: `KEYS` is then the
 * directory with the keys of its account app (default `.data/keys/account`), and `ISSUER` the `iss`
 * of its tokens (default `BASE_URL`).
 */
export default async function setup(
  project: TestProject,
): Promise<(() => Promise<void>) | undefined> {
  const {
    BASE_URL: baseUrl,
    KEYS: keys = join(repository, '.data', 'keys', 'account'),
    ISSUER: issuer,
  } = process.env;
  // Ignores `/`, because Vite sets an unset `BASE_URL` to `/`.
  if (baseUrl?.startsWith('http')) {
    if (!existsSync(keys))
      throw new Error(`KEYS: no directory ${keys} with the keys to sign the tests' tokens with.`);
    project.vitest.provide('stack', {
      baseUrl,
      keys: resolve(keys),
      issuer: issuer ?? baseUrl,
      launched: false,
    });
    return undefined;
  }
  const directory = await openRunDirectory('e2e');
  const system = await LaunchedSystem.start({
    data: directory,
    replicas,
    environment: { CORS_ORIGINS: allowedOrigin },
  });
  const database = readFileSync(join(directory, 'deletions-database-url'), 'utf8').trim();
  const { baseUrl: url } = system;
  const tokenKeys = { keys: join(directory, 'keys', 'account'), issuer: url };
  project.vitest.provide('stack', { baseUrl: url, ...tokenKeys, launched: true, database });
  return async () => {
    await system.stop();
    await removeRunDirectory(directory);
  };
}
