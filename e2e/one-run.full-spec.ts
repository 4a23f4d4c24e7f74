import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removePostgres } from '#embedded';
import { freshUser, LaunchedSystem, TokenIssuer } from '#testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

const requests = 500;
const atOnce = 20;

let root: string;
let data: string;
let system: LaunchedSystem;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'one-run-'));
  // Accessible to the user of Postgres if root runs the tests.
  chmodSync(root, 0o711);
  data = join(root, 'data');
  system = await LaunchedSystem.start({ data, replicas: 2 });
});

afterAll(async () => {
  await system.stop();
  await removePostgres(join(data, 'postgres'));
  rmSync(root, { recursive: true, force: true });
});

/** Returns the number of handlers that each replica ran, from its log line at the stop. */
function handled(): number[] {
  return readdirSync(join(data, 'logs'))
    .flatMap((file) => readFileSync(join(data, 'logs', file), 'utf8').split('\n'))
    .filter((line) => line.includes('"msg":"service stopped"'))
    .map((line) => (JSON.parse(line) as { handledRequests: number }).handledRequests);
}

describe.runIf(inject('stack').launched)('two replicas of every service', () => {
  it(`run ${requests} handlers for ${requests} requests, and share them`, async () => {
    const issuer = await TokenIssuer.open(join(data, 'keys', 'account'), system.baseUrl);
    const token = await issuer.issue(freshUser());
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const guid = crypto.randomUUID();
    const kinds = [
      () => fetch(`${system.baseUrl}/subscriptions`, { headers }),
      () => fetch(`${system.baseUrl}/episodes`, { headers }),
      () => fetch(`${system.baseUrl}/deletions/1`, { headers }),
      () => fetch(`${system.baseUrl}/feeds`, { headers }),
      () =>
        fetch(`${system.baseUrl}/subscriptions`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ subscriptions: [{ feed_url: 'https://example.org/feed', guid }] }),
        }),
    ];
    let sent = 0;
    const client = async () => {
      while (sent < requests) {
        const kind = kinds[sent++ % kinds.length] as () => Promise<Response>;
        const response = await kind();
        await response.arrayBuffer();
        expect([200, 404]).toContain(response.status);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, client));
    await system.stop();
    const replicas = handled();
    expect(replicas).toHaveLength(8);
    expect(replicas.reduce((sum, count) => sum + count, 0)).toBe(requests);
    expect(replicas.every((count) => count > 0)).toBe(true);
  });
});
