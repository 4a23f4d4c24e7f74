import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { composeCommand } from './testing/docker-engine.js';
import { createRepository, homePages } from './testing/home-pages.js';

const compose = composeCommand().join(' ');
const { docker } = homePages();
const execute = promisify(execFile);
const feed = 'https://podcast.example/feed';
const password = 'the password of a new user';
const executed = new Set<string>();

let root: string;
let checkout: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'home-'));
  checkout = join(root, 'podcast-sync');
  createRepository(join(root, 'repository'), translated);
});
afterAll(async () => {
  if (existsSync(checkout)) await script('docker compose down --volumes');
  rmSync(root, { recursive: true, force: true });
}, 120_000);

/** Returns commands for this engine: its compose, without a terminal, with the built images. */
function translated(text: string): string {
  return text
    .replaceAll('REPOSITORY', join(root, 'repository'))
    .replaceAll('pods.example.org', 'pods.local')
    .replaceAll(' exec edge', ' exec -T edge')
    .replaceAll(/ --build| --rmi all/g, '')
    .replaceAll('docker compose', compose);
}

async function script(text: string): Promise<string> {
  const cwd = existsSync(checkout) ? checkout : root;
  // Separate from other projects of the engine.
  const project = { COMPOSE_PROJECT_NAME: 'podcast-sync-home-test', HTTP_PORT: '0' };
  const env = { ...process.env, ...project };
  return (await execute('bash', ['-ec', translated(text)], { cwd, env, maxBuffer: 64e6 })).stdout;
}

/** Runs the commands of a section, or one of its blocks. @returns their output. */
function run(heading: string, block?: number): Promise<string> {
  executed.add(heading);
  const scripts = docker.get(heading) ?? [];
  return script(scripts.slice(block ?? 0, block === undefined ? undefined : block + 1).join('\n'));
}

/** Sends a request through Caddy, from the container of the edge. @returns the body. */
async function send(path: string, headers: object, body = ''): Promise<string> {
  const request = {
    host: 'caddy',
    servername: 'pods.local',
    path,
    method: body ? 'POST' : 'GET',
    ca: readFileSync(join(checkout, 'root.crt'), 'utf8'),
    headers: { host: 'pods.local', ...headers },
  };
  const client = `
    import { request } from 'node:https';
    import { text } from 'node:stream/consumers';
    const sent = request(${JSON.stringify(request)}).end(${JSON.stringify(body)});
    sent.on('response', async (answer) => {
      console.log(await text(answer));
      process.exitCode = answer.statusCode < 400 ? 0 : 1;
    });`;
  return script(`docker compose exec edge node --input-type=module - <<'END'\n${client}\nEND`);
}

describe('the commands of "Run at home" with Docker', () => {
  let sync: (path: string, body?: string) => Promise<string>;

  it('install and start the server, which a podcast app reaches by HTTPS', async () => {
    await run('With Docker', 0);
    const printed = await run('With Docker', 1);
    const link = /^https:\/\/pods\.local(\/links\/\S+)$/m.exec(printed)?.[1] ?? '';
    await eventually(() => run('In your network'), { timeout: 60_000, interval: 1_000 });
    const form = new URLSearchParams({ name: 'ann', password }).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    await send(link, type, form);
    const appPassword = await script(
      'docker compose exec edge node dist/programs/podcast-sync.js app-password ann',
    );
    const authorization = `Basic ${Buffer.from(`ann:${appPassword.trim()}`).toString('base64')}`;
    sync = (path, body) => send(path, { authorization }, body);
    const change = JSON.stringify({ add: [feed], remove: [] });
    await sync('/api/2/subscriptions/ann/phone.json', change);
    expect(await sync('/subscriptions/ann.json')).toContain(feed);
  }, 600_000);

  it('back up, upgrade and restore, with all data', async () => {
    await run('Back up');
    await run('Upgrade');
    await run('Restore');
    await eventually(() => run('In your network'), { timeout: 60_000, interval: 1_000 });
    expect(await sync('/subscriptions/ann.json')).toContain(feed);
  }, 600_000);

  it('uninstall everything, and are all that the pages have', async () => {
    await run('Uninstall');
    expect(await script('docker compose ps -q')).toBe('');
    expect([...docker.keys()].filter((heading) => !executed.has(heading))).toEqual([]);
  }, 120_000);
});
