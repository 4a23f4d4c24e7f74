import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AppProcess, AppStack, type Device } from '#testing';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const programs = ['gateway', 'subscription', 'episode'] as const;

/** Number of observed uploads. A file counts if each crosses it, which excludes timers. */
const uploads = 6;

let root: string;
let stack: AppStack;
let gateway: AppProcess;
let episode: AppProcess;
let device: Device;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'podcast-sync-crossed-'));
  mkdirSync(join(root, 'dist/programs'), { recursive: true });
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  for (const name of programs) {
    const modules = ['tests/system/testing/crossed-files.mjs', `dist/apps/${name}/src/main.js`];
    const lines = modules.map((module) => `import ${JSON.stringify(join(repository, module))};\n`);
    writeFileSync(join(root, `dist/programs/${name}.js`), lines.join(''));
  }
  stack = await AppStack.open();
  [gateway, , episode] = (await stack.start(programs, {}, root)) as [
    AppProcess,
    AppProcess,
    AppProcess,
  ];
  device = await stack.device(gateway);
}, 120_000);
afterAll(async () => {
  await stack?.close();
  rmSync(root, { recursive: true });
});

/** The files of the product that ran in a process since it was asked before. */
async function crossed(app: AppProcess): Promise<string[]> {
  const { crossed: urls } = (await app.ask('SIGUSR2')) as { crossed: string[] };
  const files = urls.map(
    (url) => new RegExp(`${repository}dist/((?:apps|libs)/.*)\\.js$`).exec(url)?.[1],
  );
  return files.filter((file) => file !== undefined).map((file) => `${file}.ts`);
}

/** Returns the section of the page on the files of an upload, and the listed files. */
function listed(): { section: string; files: Set<string> } {
  const page = readFileSync(join(repository, 'docs/design/architecture.md'), 'utf8');
  const section = /### The files of `POST \/episodes`.*?\n## /s.exec(page)?.[0] ?? '';
  const files = new Set<string>();
  let folder = '';
  for (const [, name = ''] of section.slice(section.indexOf('\n|')).matchAll(/`([^`]+)`/g)) {
    if (/^(apps|libs)\/\w+\/src$/.test(name)) folder = name;
    else files.add(/^(apps|libs)\//.test(name) ? name : `${folder}/${name}`);
  }
  return { section, files };
}

it('an upload crosses exactly the files that docs/design/architecture.md lists', async () => {
  const { body } = await device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', {
    body: { subscriptions: [{ feed_url: 'https://podcast.example/feed' }] },
  });
  const observed: Set<string>[] = [];
  for (let n = 0; n <= uploads; n++) {
    const status = { value: true, timestamp: '2026-01-01T10:00' };
    const entry = {
      podcast_guid: body.success[0]!.guid,
      episode_guid: `episode ${n}`,
      played_status: status,
    };
    await Promise.all([crossed(gateway), crossed(episode)]);
    const answer = await device.send<{ success: unknown[] }>('POST', '/episodes', {
      body: { episodes: [entry] },
    });
    expect(answer.body.success).toHaveLength(1);
    observed.push(new Set((await Promise.all([crossed(gateway), crossed(episode)])).flat()));
  }
  // The first one is not like the others: connections are opened and statements prepared.
  const [first, ...others] = observed.slice(1) as [Set<string>, ...Set<string>[]];
  const files = [...first].filter((file) => others.every((other) => other.has(file)));
  const { section, files: named } = listed();
  expect(files.filter((file) => !named.has(file))).toEqual([]);
  expect([...named].filter((file) => !observed.some((each) => each.has(file)))).toEqual([]);
  const withLibraries = new Set(
    [...named].map((file) => (file.startsWith('libs/') ? file.split('/')[1] : file)),
  );
  expect(section).toContain(
    `code from ${named.size} files (${withLibraries.size} if each library counts as one).`,
  );
});
