import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppStack, repository } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface Sbom {
  bomFormat: string;
  metadata: { component: { name: string } };
  components: { name: string; version: string; hashes: { alg: string }[] }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

let folder: string;
let image: string;
let sbom: Sbom;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'traced-'));
  image = trace('gateway');
  sbom = JSON.parse(readFileSync(join(image, 'sbom.cdx.json'), 'utf8')) as Sbom;
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A folder with the files of a program's image. */
function trace(program: string): string {
  const files = join(folder, program);
  execFileSync('node', ['apps/trace.mjs', program, files], { cwd: repository });
  return files;
}

function packagesIn(modules: string): string[] {
  const within = (name: string) =>
    readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`);
  return readdirSync(modules).flatMap((name) => (name.startsWith('@') ? within(name) : name));
}

describe('the files of an image are all that it needs, of', () => {
  let stack: AppStack;
  beforeAll(async () => {
    stack = await AppStack.open();
  });
  afterAll(() => stack.close());

  const status = async (url: string) => (await fetch(url)).status;
  const opsPort = { OPS_PORT: '0' };

  it('the gateway, with the reference of the API', async () => {
    const [gateway] = await stack.start(['gateway'], opsPort, image);
    const base = `http://127.0.0.1:${String(gateway!.facts['port'])}`;
    for (const path of [
      '/openapi.json',
      '/docs',
      '/docs/swagger-ui-bundle.js',
      '/docs/swagger-ui.css',
    ])
      expect([path, await status(base + path)]).toEqual([path, 200]);
  });

  it('the services', async () => {
    for (const service of ['subscription', 'episode'] as const) {
      const [replica] = await stack.start([service], opsPort, trace(service));
      expect(await status(`http://127.0.0.1:${String(replica!.facts['opsPort'])}/readyz`)).toBe(
        200,
      );
    }
  });

  it('the account app, with the console', async () => {
    const files = trace('account');
    const [account] = await stack.start(['account'], opsPort, files);
    const base = `http://127.0.0.1:${String(account!.facts['port'])}`;
    const document = await (await fetch(`${base}/console/`)).text();
    const assets = [...document.matchAll(/\/console\/assets\/[\w.-]+/g)].map(([path]) => path);
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) expect([path, await status(base + path)]).toEqual([path, 200]);
    const { components } = JSON.parse(readFileSync(join(files, 'sbom.cdx.json'), 'utf8')) as Sbom;
    expect(components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['preact', '@preact/signals']),
    );
  });

  it('the edge, with the files that the gateway and the account app read', () => {
    const read = (files: string) =>
      readdirSync(files, { recursive: true, encoding: 'utf8' }).filter((path) =>
        /^(dist.console|node_modules)./.test(path),
      );
    expect(read(trace('edge')).sort()).toEqual(
      [...new Set([...read(image), ...read(trace('account'))])].sort(),
    );
  });

  it("the deletion worker, with the queue's board and the operators' command", async () => {
    const files = trace('deletion-worker');
    const password = 'a board for operators';
    const [worker] = await stack.start(
      ['deletion-worker'],
      { ...opsPort, QUEUE_BOARD_PASSWORD: password },
      files,
    );
    const headers = {
      authorization: `Basic ${Buffer.from(`operator:${password}`).toString('base64')}`,
    };
    const board = await fetch(`http://127.0.0.1:${String(worker!.facts['opsPort'])}/queues`, {
      headers,
    });
    expect([board.status, await board.text()]).toEqual([200, expect.stringContaining('<script')]);
    const env = { PATH: process.env['PATH'], DATABASE_URL: stack.postgres.urls.deletion };
    const command = ['dist/programs/podcast-sync.js', 'deletions', 'list', '--json'];
    expect(
      JSON.parse(execFileSync('node', command, { cwd: files, env, encoding: 'utf8' })),
    ).toEqual([]);
  });
});

describe('an image', () => {
  it('of the commands of operators answers for help', () => {
    const help = execFileSync('node', ['main.js', '--help'], {
      cwd: trace('podcast-sync'),
      encoding: 'utf8',
    });
    expect(help).toContain('Usage: podcast-sync');
  });
});

describe("the bill of an image's materials", () => {
  it('is CycloneDX and names its image', () => {
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'podcast-sync/gateway' } },
    });
  });

  it('lists exactly the content of the image, by version and hash', () => {
    const names = sbom.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['fastify', 'jose', 'ioredis', '@nestjs/common']));
    for (const { name, hashes } of sbom.components)
      expect([name, hashes[0]?.alg]).toEqual([name, 'SHA-512']);
    expect(names).toEqual(expect.arrayContaining(packagesIn(join(image, 'node_modules'))));
    for (const absent of ['@bull-board/ui', 'bullmq', 'rolldown', 'vitest'])
      expect(names).not.toContain(absent);
  });

  it('lists the dependencies of each part', () => {
    const refs = sbom.dependencies.map(({ ref }) => ref);
    for (const { dependsOn } of sbom.dependencies)
      expect(refs).toEqual(expect.arrayContaining(dependsOn));
  });
});
