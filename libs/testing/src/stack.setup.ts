import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { LaunchedSystem, repository } from './launched.system.js';
import { openRunDirectory, removeRunDirectory } from './run.directory.js';

/** What the `e2e` tier hands to its tests, and to those of what it leaves behind. */
interface Stack {
  baseUrl: string;
  /** The directory with the keys that sign the system's tokens, and their `iss`. */
  keys: string;
  issuer: string;
  /** Whether it was started for this run, on this machine. */
  launched: boolean;
  /** Its database, as one of its logins; only of one that was started for this run. */
  database?: string;
}

declare module 'vitest' {
  // Declared by vitest as an interface to be merged with.
  interface ProvidedContext {
    stack: Stack;
  }
}

/** The web origin that may call the system under test; one that `BASE_URL` names must allow it too. */
const origin = 'https://app.example';

/** How many processes of each service the tests run against. */
const replicas = 2;

/**
 * Once per run of the `e2e` tier: the system that `BASE_URL` names, with the keys of its account app in the directory
 * `KEYS` (default `.data/keys/account`), whose tokens have the `iss` `ISSUER` (default `BASE_URL`); else the built system with two replicas of each service, gone at the end.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const { BASE_URL: baseUrl, KEYS: keys = join(repository, '.data', 'keys', 'account'), ISSUER: issuer } = process.env;
  // Vite sets this variable to `/`, its own idea of a base, where nobody else did.
  if (baseUrl?.startsWith('http')) {
    if (!existsSync(keys)) throw new Error(`KEYS: no directory ${keys} with the keys to sign the tests' tokens with.`);
    project.vitest.provide('stack', { baseUrl, keys: resolve(keys), issuer: issuer ?? baseUrl, launched: false });
    return undefined;
  }
  const directory = await openRunDirectory('e2e');
  const system = await LaunchedSystem.start({ data: directory, replicas, environment: { CORS_ORIGINS: origin } });
  const database = readFileSync(join(directory, 'deletions-database-url'), 'utf8').trim();
  const { baseUrl: url } = system;
  const own = { keys: join(directory, 'keys', 'account'), issuer: url };
  project.vitest.provide('stack', { baseUrl: url, ...own, launched: true, database });
  return async () => {
    await system.stop();
    await removeRunDirectory(directory);
  };
}
