import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  chartFolder,
  environmentOf,
  type Manifest,
  manifestsOfKind,
  manifestTitle,
  renderChart,
  runHelm,
  valuesFile,
  type WorkloadSpec,
} from './testing/chart.js';

/** An invalid value and its message. */
type WrongValue = [set: string, said: RegExp];
const wrongValues: WrongValue[] = [
  ['imge={}', /additional properties 'imge' not allowed/],
  ['image.tag=1.2', /\/image\/tag': got number, want string/],
  ['image.tag="latest"', /image.tag: latest does not identify a release/],
  ['apps.episode.tag="latest"', /apps.episode.tag: latest does not identify a release/],
  ['image.pullSecrets="registry"', /\/image\/pullSecrets': got string, want array/],
  ['apps.worker={}', /\/apps': additional properties 'worker' not allowed/],
  ['apps.episode.replicas.min=1', /\/apps\/episode\/replicas\/min': minimum: got 1, want 2/],
  [
    'apps.episode.replicas={"min":9,"max":3}',
    /apps.episode.replicas: min \(9\) is more than max \(3\)/,
  ],
  ['apps.episode.replicas.count=3', /additional properties 'count' not allowed/],
  ['apps.gateway.poolSize=3', /\/apps\/gateway': additional properties 'poolSize' not allowed/],
  [
    'apps.episode.resources.limits.memory="512M"',
    /\/limits\/memory': '512M' does not match pattern/,
  ],
  [
    'apps.episode.resources.limits.memory=null',
    /\/apps\/episode\/resources\/limits': missing property 'memory'/,
  ],
  [
    'apps.gateway.env.MAX_CALL="9"',
    /\/apps\/gateway\/env': additional properties 'MAX_CALL' not allowed/,
  ],
  ['apps.gateway.env.MAX_CALLS=9', /\/apps\/gateway\/env\/MAX_CALLS': got number, want string/],
  ['apps.gateway.env.AUTH_ISSUER=null', /AUTH_ISSUER': got null, want string/],
  [
    'apps.episode.env.DATABASE_URL="postgres://x"',
    /additional properties 'DATABASE_URL' not allowed/,
  ],
  [
    'apps.deletion-worker.env.QUEUE_BOARD_PASSWORD="x"',
    /additional properties 'QUEUE_BOARD_PASSWORD' not allowed/,
  ],
  ['env.LOG_LEVEL="loud"', /\/env\/LOG_LEVEL': value must be one of/],
  ['redis.url="redis://:secret@redis"', /\/redis\/url': .*does not match pattern/],
  [
    'redis.cluster="node-1:6379"',
    /exactly one of enabled, url, cluster and sentinels; given: url, cluster/,
  ],
  ['redis.url=""', /exactly one of enabled, url, cluster and sentinels; given: none/],
  ['redis.secretKeys=["PASSWORD"]', /\/redis\/secretKeys\/0': value must be one of/],
  ['queue.redis.cluster="node-1"', /\/queue\/redis\/cluster': 'node-1' does not match pattern/],
  [
    'postgres.maxConnections=200',
    /is 200, but 332 connections are possible: .*episode \(10 \+ 1\) x 10/,
  ],
  ['apps.episode.poolSize=20', /is 340, but 442 connections are possible/],
  [
    'events.redis.secretKeys=["QUEUE_REDIS_PASSWORD"]',
    /\/events\/redis\/secretKeys\/0': value must be one of/,
  ],
  ['accounts.url=""', /accounts.url: is required with accounts.enabled/],
  ['accounts.url="https://account.example.org/"', /\/accounts\/url': .*does not match pattern/],
  [
    'accounts.url="https://x.example.org"',
    /AUTH_ISSUER: does not contain accounts.url, https:\/\/x.example.org/,
  ],
  ['apps.account.env.API_URLS=""', /API_URLS: is required without an Ingress of the chart/],
  [
    'apps.account.env.SMTP_URL="smtp://x"',
    /\/apps\/account\/env': additional properties 'SMTP_URL' not allowed/,
  ],
  [
    'ingress={"enabled":true,"host":"x.example"}',
    /apps.account.env.TRUSTED_PROXIES: is required behind an Ingress/,
  ],
  [
    'gpodder={"enabled":true,"url":"https://x.example/gpodder"}',
    /\/gpodder\/url': .*does not match pattern/,
  ],
  [
    'apps.gpodder.env.SESSION_KEY="x"',
    /\/apps\/gpodder\/env': additional properties 'SESSION_KEY' not allowed/,
  ],
  ['feeds.mode="on"', /\/feeds\/mode': value must be one of/],
  ['ingress.enabled="yes"', /\/ingress\/enabled': got string, want boolean/],
  ['ingress.enabled=true', /ingress.host: is required/],
  ['monitoring.labels={"release":1}', /\/monitoring\/labels\/release': got number, want string/],
  ['tracing.endpoint="collector:4318"', /\/tracing\/endpoint': .*does not match pattern/],
];

describe('rejects an invalid value:', () => {
  it.each(wrongValues)('%s', (set, said) => {
    const { status, stderr } = runHelm([
      'template',
      chartFolder,
      '--values',
      valuesFile('smallest'),
      '--set-json',
      set,
    ]);
    expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(said);
    expect(status).not.toBe(0);
  });

  it('no values: the error names the required ones', () => {
    expect(runHelm(['template', chartFolder]).stderr).toMatch(
      /\/apps\/gateway\/env': missing property 'AUTH_ISSUER'/,
    );
  });

  it('a limit per address behind an Ingress that hides addresses', () => {
    const set = [
      'ingress={"enabled":true,"host":"x.example"}',
      'apps.gateway.env.RATE_LIMIT_PER_ADDRESS="60/60"',
    ];
    expect(() => renderChart('smallest', { set })).toThrow(
      /RATE_LIMIT_PER_ADDRESS behind an Ingress needs TRUSTED_PROXIES/,
    );
  });

  it('gpodder without accounts', () => {
    const set = [
      'gpodder={"enabled":true,"url":"https://gpodder.example"}',
      'accounts.enabled=false',
    ];
    expect(() => renderChart('smallest', { set })).toThrow(
      /gpodder.enabled: needs accounts.enabled/,
    );
  });

  it('gpodder behind an Ingress that hides addresses', () => {
    const set = [
      'gpodder={"enabled":true,"url":"https://gpodder.example"}',
      'ingress={"enabled":true,"host":"x.example"}',
      'apps.account.env.TRUSTED_PROXIES="10.0.0.0/8"',
    ];
    expect(() => renderChart('smallest', { set })).toThrow(
      /apps.gpodder.env.TRUSTED_PROXIES: is required/,
    );
  });

  it('unknown values in any map of the schema', () => {
    const open: string[] = [];
    JSON.parse(
      readFileSync(join(chartFolder, 'values.schema.json'), 'utf8'),
      function (this: object, key, value: unknown) {
        const { type, additionalProperties } = (value ?? {}) as {
          type?: string;
          additionalProperties?: unknown;
        };
        if (type === 'object' && additionalProperties !== false) open.push(key);
        return value;
      },
    );
    expect(open.sort()).toEqual([
      'annotations',
      'expressionAnnotations',
      'global',
      'labels',
      'nodeSelector',
    ]);
  });
});

interface NetworkPolicy {
  egress: { ports: { port: number }[] }[];
}

describe('a value', () => {
  const deployment = (manifests: Manifest[], app: string) =>
    manifestsOfKind<WorkloadSpec>(manifests, 'Deployment').find(
      ({ metadata }) => metadata.name === app,
    )!.spec;
  const environment = (manifests: Manifest[], app: string) =>
    environmentOf(deployment(manifests, app).template.spec.containers[0]!);
  const jobOf = (set: string[] = []) =>
    manifestsOfKind(renderChart('production', { set }), 'Job').map(manifestTitle);

  it.each([
    ['512Mi', 384],
    ['1Gi', 768],
    ['1000Mi', 750],
  ])('of memory, %s, sets the heap to %i MiB', (memory, heap) => {
    const set = [`apps.episode.resources.limits.memory="${memory}"`];
    const { NODE_OPTIONS: options } = environment(renderChart('smallest', { set }), 'episode');
    expect(options).toBe(`--max-old-space-size=${heap}`);
  });

  it('without autoscaling sets minimal replicas and connections', () => {
    const set = [
      'autoscaling.enabled=false',
      'postgres.maxConnections=112',
      'apps.gateway.replicas.min=4',
    ];
    const manifests = renderChart('smallest', { set });
    expect(manifestsOfKind(manifests, 'HorizontalPodAutoscaler')).toEqual([]);
    expect(['gateway', 'episode'].map((app) => deployment(manifests, app).replicas)).toEqual([
      4, 2,
    ]);
    expect(() => renderChart('smallest', { set: [...set, 'postgres.maxConnections=111'] })).toThrow(
      /is 111, but 112/,
    );
  });

  it('with URLs opens their ports in network policies', () => {
    const set = [
      'networkPolicies.enabled=true',
      'apps.gateway.env.AUTH_JWKS_URL="https://login.example:8443/keys,b=http://other.example/keys"',
      'accounts.ports=[465]',
      'redis.url="redis://redis.example:6380"',
      'tracing={"enabled":true,"endpoint":"http://collector:14318"}',
    ];
    const policies = manifestsOfKind<NetworkPolicy>(
      renderChart('smallest', { set }),
      'NetworkPolicy',
    );
    const portsOf = (name: string) =>
      policies.find(({ metadata }) => metadata.name === `podcast-sync-${name}`)?.spec.egress[0]
        ?.ports;
    const names = ['gateway', 'account', 'to-redis', 'traces'];
    expect(names.map((name) => portsOf(name)?.map(({ port }) => port))).toEqual([
      [443, 80, 3002, 8443],
      [465],
      [6380],
      [14318],
    ]);
  });

  it.each([
    ['redis://redis.example:6380/2', 'redis.example:6380', '2'],
    ['redis://redis.example', 'redis.example:6379', undefined],
  ])('redis.url, %s, names server and database of the queue for KEDA', (url, address, index) => {
    const set = ['keda.enabled=true', `redis.url="${url}"`];
    const [scaler] = manifestsOfKind<{ triggers: { metadata: Record<string, string> }[] }>(
      renderChart('smallest', { set }),
      'ScaledObject',
    );
    const metadata = scaler?.spec.triggers[0]?.metadata;
    expect([metadata?.address, metadata?.databaseIndex]).toEqual([address, index]);
  });

  it('accounts.url configures the gateway for its sign-in and tokens', () => {
    expect(environment(renderChart('smallest'), 'gateway')).toMatchObject({
      AUTH_SERVERS: 'https://account.example.org',
      CORS_ORIGINS: 'https://account.example.org',
      AUTH_JWKS_URL: 'https://account.example.org=http://account/jwks',
      AUTH_OWN_ISSUER: 'https://account.example.org',
      AUTH_APP_PASSWORDS: 'on',
    });
  });

  it('feeds.mode deploys the feed service, and only its fetchers can connect outwards', () => {
    const rendered = (mode: string) =>
      renderChart('smallest', {
        set: [
          `feeds.mode="${mode}"`,
          'networkPolicies.enabled=true',
          'postgres.maxConnections=400',
        ],
      });
    const feedApps = (manifests: Manifest[]) =>
      manifestsOfKind(manifests, 'Deployment')
        .map(({ metadata }) => metadata.name)
        .filter((name) => name.startsWith('feed'));
    expect(['off', 'pushed', 'fetched'].map((mode) => feedApps(rendered(mode)))).toEqual([
      [],
      ['feed'],
      ['feed', 'feed-fetcher'],
    ]);
    const manifests = rendered('fetched');
    const variables = ['gateway', 'feed', 'feed-fetcher'].map((app) => environment(manifests, app));
    expect(variables).toMatchObject([
      { FEEDS: 'fetched' },
      { FEEDS: 'fetched', FEEDS_ROLE: 'answers' },
      { FEEDS: 'fetched', FEEDS_ROLE: 'fetches' },
    ]);
    const policies = manifestsOfKind<{ egress?: { to?: object[] }[] }>(manifests, 'NetworkPolicy');
    const outward = policies.filter(({ spec }) => JSON.stringify(spec).includes('0.0.0.0/0'));
    expect(outward.map(({ metadata }) => metadata.name)).toEqual(['podcast-sync-feed-fetcher']);
  });

  it('gpodder.enabled deploys it with its URL and session key', () => {
    expect(
      JSON.stringify(renderChart('smallest', { set: ['networkPolicies.enabled=true'] })),
    ).not.toMatch(/gpodder/);
    const at = (set: string) => environment(renderChart('smallest', { set: [set] }), 'gpodder');
    expect(at('gpodder.enabled=true')['PUBLIC_URL']).toBe('https://account.example.org');
    expect(at('gpodder={"enabled":true,"url":"https://gpodder.example"}')).toMatchObject({
      PUBLIC_URL: 'https://gpodder.example',
      SESSION_KEY_FILE: '/run/secrets/podcast-sync/SESSION_KEY',
    });
  });

  it('accounts.enabled=false omits the app and its login', () => {
    const set = [
      'accounts={"enabled":false}',
      'apps.gateway.env.AUTH_ISSUER="https://login.example"',
    ];
    const manifests = renderChart('smallest', { set: [...set, 'networkPolicies.enabled=true'] });
    expect(JSON.stringify(manifests)).not.toMatch(
      /account(?!s? |.*ServiceAccount|Name|Token)|ACCOUNT|APP_PASSWORDS/,
    );
  });

  it('that disables a part omits its objects', () => {
    const off = ['disruptionBudgets.enabled=false', 'topologySpread.enabled=false'];
    const manifests = renderChart('smallest', { set: off });
    expect(manifestsOfKind(manifests, 'PodDisruptionBudget')).toEqual([]);
    expect(
      deployment(manifests, 'gateway').template.spec.topologySpreadConstraints,
    ).toBeUndefined();
    expect(new Set(manifests.map(({ kind }) => kind))).toEqual(
      new Set(['ServiceAccount', 'Service', 'Deployment', 'HorizontalPodAutoscaler', 'Job']),
    );
  });

  it('of the Job renames it; other values do not', () => {
    const [same] = jobOf();
    expect(jobOf(['apps.episode.replicas.max=30'])).toEqual([same]);
    const others = [
      ['image.tag="0.3.0"'],
      ['env.LOG_LEVEL="debug"'],
      ['migrate.env.MIGRATE_GROUPS="off"'],
    ].flatMap(jobOf);
    expect(new Set([same, ...others]).size).toBe(4);
    expect(jobOf(['image.tag="v1_Next"'])[0]).toMatch(/^Job\/migrate-v1-next-[0-9a-f]{8}$/);
  });

  it('of a variable restarts only the apps with it', () => {
    const [before, after] = [[], ['apps.episode.env.MAX_IN_FLIGHT="8"']].map((set) =>
      renderChart('smallest', { set }),
    );
    const changed = before!.filter(
      (manifest, i) => JSON.stringify(manifest) !== JSON.stringify(after![i]),
    );
    expect(changed.map(manifestTitle)).toEqual(['Deployment/episode']);
  });
});
