import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface Sbom {
  bomFormat: string;
  metadata: { component: { name: string } };
  components: { name: string; version: string; hashes: { alg: string }[] }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

let image: string;
let sbom: Sbom;
beforeAll(() => {
  image = mkdtempSync(join(tmpdir(), 'traced-'));
  execFileSync('node', ['apps/trace.mjs', 'gateway', image], { cwd: repository });
  sbom = JSON.parse(readFileSync(join(image, 'sbom.cdx.json'), 'utf8')) as Sbom;
});
afterAll(() => rmSync(image, { recursive: true }));

function packagesIn(folder: string): string[] {
  const within = (name: string) => readdirSync(join(folder, name)).map((inner) => `${name}/${inner}`);
  return readdirSync(folder).flatMap((name) => (name.startsWith('@') ? within(name) : name));
}

describe("the bill of an image's materials", () => {
  it('is CycloneDX and says which image it is of', () => {
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'podcast-sync/gateway' } } });
  });

  it('names what is in the image, by version and hash, and nothing that is not', () => {
    const names = sbom.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['fastify', 'jose', 'ioredis', '@nestjs/common']));
    for (const { name, hashes } of sbom.components) expect([name, hashes[0]?.alg]).toEqual([name, 'SHA-512']);
    expect(names).toEqual(expect.arrayContaining(packagesIn(join(image, 'node_modules'))));
    for (const absent of ['pg', 'typeorm', 'bullmq', 'vitest']) expect(names).not.toContain(absent);
  });

  it('says what each part needs of the others, and nothing else', () => {
    const refs = sbom.dependencies.map(({ ref }) => ref);
    for (const { dependsOn } of sbom.dependencies) expect(refs).toEqual(expect.arrayContaining(dependsOn));
  });
});
