import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { openRunDirectory, removeRunDirectory } from './run.directory.js';

/** What the `e2e` tier hands to its tests. */
interface Stack {
  baseUrl: string;
  /** The directory with the keys of the issuer that the gateway believes. */
  keys: string;
}

declare module 'vitest' {
  // Declared by vitest as an interface to be merged with.
  interface ProvidedContext {
    stack: Stack;
  }
}

/** How many processes of each service the tests run against. */
const replicas = 2;
const startLimitMs = 120_000;
const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Once per run of the `e2e` tier: the system that `BASE_URL` names, with the keys of its issuer in the directory
 * `KEYS` (default `.data/keys`); else the built system with two replicas of each service, gone at the end.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const { BASE_URL: baseUrl, KEYS: keys = join(root, '.data', 'keys') } = process.env;
  // Vite sets this variable to `/`, its own idea of a base, where nobody else did.
  if (baseUrl?.startsWith('http')) {
    if (!existsSync(keys)) throw new Error(`KEYS: no directory ${keys} with the keys to sign the tests' tokens with.`);
    project.provide('stack', { baseUrl, keys: resolve(keys) });
    return undefined;
  }
  const directory = await openRunDirectory('e2e');
  const { url, stop } = await launch(directory);
  project.provide('stack', { baseUrl: url, keys: join(directory, 'keys') });
  return async () => {
    await stop();
    await removeRunDirectory(directory);
  };
}

/** Starts the built system. It ends with the process that started it, however that ends. */
async function launch(data: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const main = join(root, 'dist', 'apps', 'standalone', 'src', 'main.js');
  if (!existsSync(main)) throw new Error('The tests run the built apps: "npm run build" first.');
  const child = fork(main, ['--replicas', String(replicas), '--port', '0', '--data', data], {
    cwd: root,
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000)));
  const ended = once(child, 'close');
  const ready = once(child, 'message', { signal: AbortSignal.timeout(startLimitMs) });
  const message = await Promise.race([ready, ended.then(() => undefined)]).catch(() => child.kill() && undefined);
  if (message === undefined) throw new Error(`The system did not start.\n${output}`);
  const [{ facts }] = message as [{ facts: { baseUrl: string } }];
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url: facts.baseUrl, stop };
}
