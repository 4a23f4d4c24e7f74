import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repository } from './launched-system.js';

const id = 'GHSA-aaaa-bbbb-cccc';
const advisory = {
  id: 1,
  url: `https://github.com/advisories/${id}`,
  title: 'Made up',
  severity: 'high',
  vulnerable_versions: '<999',
  cwe: [],
  cvss: { score: 0, vectorString: null },
};

/** A registry with these advisories for fastify. */
let registry: Server;
let status = 200;
let known: object[] = [];
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'audit-'));
  registry = createServer((request, response) => {
    // npm reads the package's document, too.
    const name = decodeURIComponent(request.url?.slice(1) ?? '');
    const answer = request.method === 'POST' ? { fastify: known } : { name, versions: {} };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    request.resume();
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  registry.close();
  rmSync(directory, { recursive: true });
});

function audit(allowed: object[] = []): Promise<{ code: number; output: string }> {
  const list = join(directory, 'allow.json');
  writeFileSync(list, JSON.stringify(allowed));
  const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  const env = {
    ...process.env,
    npm_config_registry: url,
    npm_config_cache: directory,
    npm_config_fetch_retries: '0',
  };
  return new Promise((resolve) => {
    execFile(
      'node',
      [join(repository, '.ci', 'audit.mjs'), list],
      { cwd: repository, env },
      (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });
}

describe('the audit of dependencies', () => {
  it('passes without known vulnerabilities', async () => {
    expect(await audit()).toEqual({ code: 0, output: 'audit: 0 known, 0 of them not allowed\n' });
  });

  it('fails on a known vulnerability', async () => {
    known = [advisory];
    const { code, output } = await audit();
    expect([code, output]).toEqual([1, expect.stringContaining(`fastify: high: Made up (${id})`)]);
  });

  it('passes while it is allowed with a reason, until its end', async () => {
    known = [advisory];
    const reason = 'never called';
    expect((await audit([{ id, reason, until: '2999-01-01' }])).code).toBe(0);
    expect((await audit([{ id, reason, until: '2020-01-01' }])).code).toBe(1);
    expect((await audit([{ id, until: '2999-01-01' }])).output).toContain(
      'needs an id, a reason and a date',
    );
  });

  it('reports an unavailable registry', async () => {
    status = 405;
    const { code, output } = await audit();
    expect([code, output]).toEqual([0, expect.stringContaining('NOTHING WAS CHECKED')]);
  });
});
