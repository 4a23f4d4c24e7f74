import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '#embedded';
import { eventually, repository } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitAll, createRepository, homeFiles, homePages } from './testing/home-pages.js';

const { systemd } = homePages();
const execute = promisify(execFile);

const isAbsent = (program: string) => spawnSync('which', [program]).status !== 0;
const absent = ['caddy', 'curl', 'git', 'setpriv'].filter(isAbsent);
if (process.getuid?.() !== 0) absent.push('root');
if (absent.length > 0)
  process.stderr.write(`NOTHING WAS CHECKED: docs/guide/home.md needs ${absent.join(', ')}\n`);

it.skipIf(isAbsent('systemd-analyze'))('the unit is valid for systemd', async () => {
  const unit = join(repository, homeFiles, 'podcast-sync.service');
  const { stderr } = await execute('systemd-analyze', ['verify', unit]);
  expect(stderr).toBe('');
});

it.skipIf(isAbsent('caddy')).each([
  ['https://pods.example.org', ':443'],
  ['https://raspberrypi.local', ':443'],
  ['http://192.168.1.10', ':80'],
])('the Caddyfile for Docker serves %s on port %s', async (PUBLIC_URL, port) => {
  const args = [
    'adapt',
    '--adapter',
    'caddyfile',
    '--config',
    join(repository, homeFiles, 'Caddyfile'),
  ];
  const { stdout } = await execute('caddy', args, { env: { ...process.env, PUBLIC_URL } });
  expect(stdout).toContain(`"listen":["${port}"]`);
  expect(stdout).toContain(`"host":["${new URL(PUBLIC_URL).hostname}"]`);
});

/** A folder instead of `/` of the machine, outside of which a test changes nothing. */
let root: string;
/** Texts of the pages and their files, and their replacements. */
let replaced: readonly (readonly [RegExp, string])[];
let address: string;

describe.skipIf(absent.length > 0)('the commands of "Run at home" without Docker', () => {
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'home-'));
    // The user of the server must reach its folders.
    chmodSync(root, 0o755);
    for (const folder of ['opt', 'srv', 'usr/local/bin', 'etc/systemd/system'])
      mkdirSync(join(root, folder), { recursive: true });
    const [port, http, https] = await Promise.all([freePort(), freePort(), freePort()]);
    address = `https://pods.local:${https}`;
    replaced = [
      [/(?<![\w.])\/(opt|srv|etc|usr\/local|var\/lib\/caddy)\//g, `${root}/$1/`],
      [/(-[uo] |User=)podcast-sync\b/g, '$1nobody'],
      [/\bREPOSITORY\b/g, join(root, 'repository')],
      [/https:\/\/pods\.example\.org/g, address],
      // Names below `local` get a certificate of the internal CA.
      [/pods\.example\.org/g, 'pods.local'],
      [/--public-url/g, `--port ${port} --public-url`],
      [/127\.0\.0\.1:3000/g, `127.0.0.1:${port}`],
    ];
    const store = `${root}/var/lib/caddy/.local/share/caddy`;
    writeFileSync(
      join(root, 'options.caddy'),
      `{\n  http_port ${http}\n  https_port ${https}\n  admin off\n  skip_install_trust\n` +
        `  storage file_system ${store}\n}\n`,
    );
    // The CA, the place of the server, and the cookies of a browser.
    writeFileSync(
      join(root, 'curl.options'),
      `silent\nshow-error\nfail\ncacert=${root}/opt/podcast-sync/root.crt\n` +
        `resolve=pods.local:${https}:127.0.0.1\ncookie=${root}/cookies\ncookie-jar=${root}/cookies\n`,
    );
    createRepository(join(root, 'repository'), translated);
  });
  afterAll(() => {
    for (const name of ['pid', 'caddy.pid']) {
      const file = join(root, name);
      if (!existsSync(file)) continue;
      const pid = readFileSync(file, 'utf8').trim();
      spawnSync('bash', ['-c', `kill ${pid}; tail --pid=${pid} -f /dev/null`]);
    }
    rmSync(root, { recursive: true, force: true });
  });

  it('install and start the server, which prints a link', async () => {
    await run('Without Docker');
    await run('TLS');
    await started();
    expect(log()).toContain(`Address        ${address} `);
    expect(firstLink()).toMatch(`${address}/links/`);
  }, 900_000);

  it('serve a browser and a podcast app by HTTPS', async () => {
    const password = 'the password of a new user';
    const account = ['--data-urlencode', 'name=ann', '--data-urlencode', `password=${password}`];
    await eventually(() => run('In your network'), { timeout: 30_000 });
    await eventually(() => send('/sign-in'), { timeout: 30_000 });
    await send(new URL(firstLink()).pathname, ...account);
    rmSync(join(root, 'cookies'));
    await send('/sign-in', ...account);
    expect(await send('/connect')).toContain('<title>Connect an app');

    expect(await run('Settings')).toContain(`${address}/links/`);
    await sync('/api/2/subscriptions/ann/phone.json', { add: [feed], remove: [] });
    expect(await sync('/subscriptions/ann.json')).toContain(feed);
  }, 120_000);

  it('back up, upgrade and restore, with all data', async () => {
    await run('Back up');
    commitAll(join(root, 'repository'));
    await run('Upgrade');
    await started();
    expect(await sync('/subscriptions/ann.json')).toContain(feed);
    await run('Restore');
    await started();
    await eventually(() => send('/sign-in'), { timeout: 30_000 });
    expect(await sync('/subscriptions/ann.json')).toContain(feed);
    expect(log()).not.toContain('/links/');
  }, 900_000);

  it('uninstall everything', async () => {
    await run('Uninstall');
    const folders = ['opt', 'srv', 'usr/local/bin', 'etc', 'etc/systemd/system'];
    const left = folders.flatMap((folder) => readdirSync(join(root, folder)));
    expect(left).toEqual(['caddy', 'systemd']);
  }, 300_000);

  it('are all that the pages have, except Tailscale', () => {
    expect([...systemd.keys()].filter((heading) => !executed.has(heading))).toEqual(['Tailscale']);
  });
});

const feed = 'https://podcast.example/feed';
/** Headings whose commands were run. */
const executed = new Set<string>();
/** The app password that a command of the pages has printed. */
let appPassword = '';

/** Runs the commands of a section. @returns their output. */
async function run(heading: string): Promise<string> {
  executed.add(heading);
  const script = (systemd.get(heading) ?? []).join('\n');
  const checkout = join(root, 'opt/podcast-sync');
  const { stdout } = await execute('bash', ['-c', `. "$MACHINE"\n${translated(script)}`], {
    cwd: existsSync(checkout) ? checkout : root,
    env: {
      ...process.env,
      ROOT: root,
      MACHINE: join(repository, 'tests/system/testing/home.machine.sh'),
      PATH: `${root}/usr/local/bin:${process.env.PATH}`,
    },
  });
  appPassword = /^pst_\S+$/m.exec(stdout)?.[0] ?? appPassword;
  return stdout;
}

function translated(text: string): string {
  return replaced.reduce((result, [from, to]) => result.replaceAll(from, to), text);
}

const log = () => readFileSync(join(root, 'log'), 'utf8');
const firstLink = () => /^ {2}(https:\S+\/links\/\S+)$/m.exec(log())?.[1] ?? '';

const started = () =>
  eventually(() => expect(log()).toContain('Podcast Sync is ready'), { timeout: 60_000 });

/** Sends a request of a browser, a `POST` if there is data. @returns the body of a success. */
async function send(path: string, ...args: string[]): Promise<string> {
  return (await execute('curl', ['--config', `${root}/curl.options`, ...args, `${address}${path}`]))
    .stdout;
}

/** Sends a request of a podcast app, with its app password. */
function sync(path: string, body?: object): Promise<string> {
  const content = body ? ['--data', JSON.stringify(body)] : [];
  return send(path, '--user', `ann:${appPassword}`, ...content);
}
