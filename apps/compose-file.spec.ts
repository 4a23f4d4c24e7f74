import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { imageEnvironment, variableProblems } from '../k8s/testing/environment.js';
import { makeContainerSecrets } from './standalone/src/container-secrets.js';

interface Service {
  image: string;
  build?: { args?: { APP?: string } };
  environment?: Record<string, string | null>;
  networks?: string[];
  ports?: string[];
  profiles?: string[];
  scale?: number;
  volumes?: string[];
  [field: string]: unknown;
}

interface ComposeFile {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
}

/** The file with its own variables replaced by their defaults. */
const text = readFileSync('docker-compose.yml', 'utf8').replace(/\$\{\w+:-([^}]*)\}/g, '$1');
const { services, networks } = parse(text, { merge: true }) as ComposeFile;
const homeText = readFileSync('docs/examples/home/compose.yaml', 'utf8');
const home = parse(homeText) as ComposeFile;
const all = Object.entries(services);
const byDefault = all.filter(([, { profiles }]) => !profiles);
const apps = [
  'migrate',
  'edge',
  'subscription',
  'episode',
  'deletion-worker',
  'feed',
  'load',
  'dump',
];
const edgeApps = ['gateway', 'gpodder', 'account'];

describe('docker-compose.yml', () => {
  let secrets: string;
  beforeAll(async () => {
    secrets = mkdtempSync(join(tmpdir(), 'compose-secrets-'));
    await makeContainerSecrets(secrets);
  });
  afterAll(() => rmSync(secrets, { recursive: true, force: true }));

  it.each(apps)('sets valid and sufficient variables of %s', (app) => {
    const given = Object.entries(services[app]?.environment ?? {});
    const environment = Object.fromEntries(given.map(([name, value]) => [name, value ?? '']));
    const folder = app === 'edge' ? secrets : join(secrets, app);
    expect(variableProblems(app, environment, { folder, mount: '/run/secrets' })).toEqual([]);
  });

  it.each(apps)('mounts only the secrets of %s', (app) => {
    const secretsOf = services[app]?.volumes?.filter((volume) => volume.includes('secrets'));
    const own =
      app === 'edge'
        ? edgeApps.map((part) => `secrets-${part}:/run/secrets/${part}:ro`)
        : [`secrets-${app}:/run/secrets:ro`];
    expect(secretsOf).toEqual(own);
  });

  it('publishes one port, and connects only edge and feed to other networks', () => {
    expect(byDefault.flatMap(([name, { ports = [] }]) => ports.map(() => name))).toEqual(['edge']);
    const open = byDefault.filter(([, service]) =>
      service.networks?.some((name) => !networks[name]?.internal),
    );
    expect(open.map(([name]) => name)).toEqual(['edge', 'feed']);
    expect(services.feed?.networks).not.toContain('edge');
  });

  it('publishes ports on this machine only, by default', () => {
    for (const [, { ports = [] }] of all)
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('runs two replicas of each service behind the edge', () => {
    const scaled = all.filter(([, { scale }]) => scale === 2).map(([name]) => name);
    expect(scaled).toEqual(['subscription', 'episode', 'deletion-worker']);
  });

  it.each([...all, ['caddy', home.services.caddy] as const])(
    'restricts %s: no capabilities, read-only, limits of memory, CPU and processes',
    (_, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        cpus: expect.any(Number),
        pids_limit: expect.any(Number),
      });
    },
  );

  it.each(all.filter(([name, { build }]) => build && name !== 'e2e'))(
    'gives the heap of %s about 75 % of its memory',
    (name, { mem_limit: limit, environment }) => {
      const { NODE_OPTIONS: nodeOptions } = { ...imageEnvironment(), ...environment };
      const mebibytes = (pattern: RegExp, from: unknown) => Number(pattern.exec(String(from))?.[1]);
      // A process that decodes a picture has its own memory.
      const decoder = name === 'feed' ? 256 : 0;
      const memory = mebibytes(/^(\d+)m$/, limit) - decoder;
      const share = mebibytes(/--max-old-space-size=(\d+)/, nodeOptions) / memory;
      expect(share).toBeGreaterThanOrEqual(0.7);
      expect(share).toBeLessThanOrEqual(0.8);
    },
  );

  it('keeps temporary files of load in its folder, not in memory', () => {
    const { load } = services;
    expect([load?.environment?.TMPDIR, load?.['tmpfs']]).toEqual(['/files', undefined]);
    expect(load?.volumes).toContain('.:/files');
  });

  it('is valid for docker-compose 1.29 and compose v2', () => {
    const fields = new Set([
      ...Object.keys(parse(text) as object),
      ...all.flatMap(([, service]) => Object.keys(service)),
    ]);
    for (const newer of [
      'name',
      'include',
      'develop',
      'configs',
      'attach',
      'pull_policy',
      'annotations',
    ])
      expect(fields).not.toContain(newer);
    expect(text).not.toMatch(/start_interval|host_ip|required:|restart: true/);
  });
});

describe('the compose file for home', () => {
  it('is short, and publishes only Caddy, as the one port of docker-compose.yml is local', () => {
    expect(homeText.split('\n').length).toBeLessThanOrEqual(40);
    const published = Object.entries(home.services).filter(([, { ports }]) => ports);
    expect(published.map(([name]) => name)).toEqual(['caddy']);
  });

  it('changes services of docker-compose.yml, and uses its networks', () => {
    const { caddy, ...changed } = home.services;
    expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(changed)));
    expect(Object.keys(networks)).toEqual(expect.arrayContaining(caddy?.networks ?? ['none']));
  });

  it('has an example of .env, whose variables the files use', () => {
    const example = readFileSync('docs/examples/home/.env.example', 'utf8');
    const variables = new Map(
      [...example.matchAll(/^#?(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    const sources = variables.get('COMPOSE_FILE')?.split(':') ?? [];
    const read = sources.map((file) => readFileSync(file, 'utf8')).join('\n');
    variables.delete('COMPOSE_FILE');
    expect(variables.size).toBeGreaterThan(1);
    for (const name of variables.keys()) expect(read).toContain(`\${${name}:`);
  });
});
