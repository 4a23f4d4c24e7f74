import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { startProgram } from '#testing';

let server: Server | undefined;
afterEach(() => server?.close());

const run = (...args: string[]) => startProgram('podcast-sync', ['login', ...args], {});

async function api(metadata: unknown): Promise<string> {
  server = createServer((_request, response) => response.end(JSON.stringify(metadata))).listen(
    0,
    '127.0.0.1',
  );
  await new Promise((resolve) => server?.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('prints an error if nothing answers', async () => {
  const { code, stdout, stderr } = await run('--api', 'http://127.0.0.1:9');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^login: the API http:\/\/127\.0\.0\.1:9\/ does not answer/);
});

it('prints an error if the API has no accounts', async () => {
  const { code, stderr } = await run('--api', await api({ resource: 'x' }));
  expect(code).toBe(1);
  expect(stderr).toContain('names no authorization server');
});

it('prints a pointer to the help for invalid options', async () => {
  const { code, stderr } = await run('--what');
  expect(code).toBe(2);
  expect(stderr).toContain('See: podcast-sync login --help');
});
