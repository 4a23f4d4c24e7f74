import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { repository } from '#testing';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';

// The SDK as apps use it: packed, and installed in an empty folder.

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'podcast-sync-client-'));
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  await run(process.execPath, ['libs/client/build.mjs'], { cwd: repository });
  // As in libs/client/build.mjs.
  const pack = ['pack', '--json', '--pack-destination', folder, './dist/client'];
  const [{ filename }] = JSON.parse((await run('npm', pack, { cwd: repository })).stdout) as [
    { filename: string },
  ];
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
  await install(`./${filename}`);
});

/** Installs a package offline, so that the installation fetches nothing. */
const install = (name: string) =>
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', name], { cwd: folder });

const installIdb = () => install(join(repository, 'node_modules', 'idb'));

/** Compiles TypeScript without types of Node. */
const compile = (...args: string[]) => {
  const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2022'];
  return run(process.execPath, [tsc, ...options, ...args], { cwd: folder });
};

const program = `
import {
  createApi, ApiError, memoryStore, SignIn, SyncClient, type LocalEpisode,
} from 'podcast-sync-client';
import { fileStore } from 'podcast-sync-client/file';
import { signInByLoopback } from 'podcast-sync-client/loopback';

const api = createApi({ baseUrl: 'http://127.0.0.1:9', token: () => 'none', retries: 0 });
const store = fileStore('store.json');
const client = new SyncClient({ api, store });
const podcast: string = await client.subscribe('https://podnews.net/rss');
await client.setPosition(podcast, { episode_guid: 'one' }, 90);
const [episode]: LocalEpisode[] = await client.episodes(podcast);
// @ts-expect-error A position is a number.
const wrong: string | undefined = episode?.playback_position?.value;
const code = await client.sync().catch((error: unknown) => error instanceof ApiError && error.code);
const types = [typeof signInByLoopback, typeof memoryStore, typeof SignIn];
console.log(JSON.stringify([podcast, wrong, code, ...types]));
`;

test('the package works in Node with types, without dependencies and offline', async () => {
  writeFileSync(join(folder, 'program.ts'), program);
  await compile('program.ts');
  const { stdout } = await run(process.execPath, ['program.js'], { cwd: folder });
  const functions = Array.from({ length: 3 }, () => 'function');
  expect(JSON.parse(stdout)).toEqual([
    '9b024349-ccf0-5f69-a609-6b82873eab3c',
    90,
    'network',
    ...functions,
  ]);
});

/** The part of expo-sqlite that the README uses. */
const expoSqlite = `
declare module 'expo-sqlite' {
  export interface Database {
    execAsync(sql: string): Promise<void>;
    getFirstAsync<Row>(sql: string, ...values: string[]): Promise<Row | null>;
    getAllAsync<Row>(sql: string, ...values: string[]): Promise<Row[]>;
    runAsync(sql: string, ...values: string[]): Promise<unknown>;
    withExclusiveTransactionAsync(run: (transaction: Database) => Promise<void>): Promise<void>;
  }
  export function openDatabaseAsync(name: string): Promise<Database>;
}
`;

test('the code of the README compiles with the package', async () => {
  await installIdb();
  const readme = readFileSync(join(repository, 'libs', 'client', 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code);
  expect(blocks.length).toBeGreaterThan(5);
  writeFileSync(join(folder, 'readme.ts'), blocks.join('\n'));
  writeFileSync(join(folder, 'expo-sqlite.d.ts'), expoSqlite);
  await compile('--noEmit', 'readme.ts', 'expo-sqlite.d.ts');
});

test('links of the packed README lead to files of the package', () => {
  const root = join(folder, 'node_modules', 'podcast-sync-client');
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const targets = [...readme.matchAll(/\]\(([^)#]+)/g)].map(([, target = '']) => target);
  const files = targets.filter((target) => !target.startsWith('https://'));
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(targets).toContain('https://openpodcastapi.org');
});

/** Returns the size of an entry's bundle for browsers, and the other packages in it. */
async function bundled(entry: string): Promise<{ bytes: number; foreign: string[] }> {
  const input = join(folder, 'node_modules', 'podcast-sync-client', 'client', 'src', entry);
  const bundle = await rolldown({ input, platform: 'browser', logLevel: 'silent' });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  const chunks = output.filter((part) => part.type === 'chunk');
  const modules = chunks.flatMap((chunk) => [...chunk.moduleIds, ...chunk.imports]);
  return {
    bytes: gzipSync(chunks.map((chunk) => chunk.code).join('')).length,
    foreign: [
      ...new Set(modules.flatMap((id) => /^[^/]+$|(?<=node_modules\/)idb(?=\/)/.exec(id) ?? [])),
    ],
  };
}

test('the core for browsers has less than 12.2 kB and no dependency, its store idb', async () => {
  const core = await bundled('index.js');
  expect(core.foreign).toEqual([]);
  expect(core.bytes).toBeLessThan(12_200);
  await installIdb();
  expect((await bundled('indexeddb.js')).foreign).toEqual(['idb']);
});
