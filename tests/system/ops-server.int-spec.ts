import { connect } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, eventually } from '#testing';
import { expectRefused, probes } from './testing/fault-stack.js';

const apps = ['gateway', 'subscription', 'episode', 'deletion-worker'] as const;
let stack: AppStack;
let processes: AppProcess[];

beforeAll(async () => {
  stack = await AppStack.open({ ownPostgres: true });
  processes = await stack.start(apps, { OPS_PORT: '0', VERSION: '1.2.3' });
});
afterAll(() => stack.close());

const processOf = (app: string) =>
  processes[apps.indexOf(app as (typeof apps)[number])] as AppProcess;

async function ask(app: string, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(
    `http://127.0.0.1:${String(processOf(app).facts['opsPort'])}${path}`,
  );
  return { status: response.status, text: await response.text() };
}

describe.each(apps)('the ops port of the %s', (app) => {
  it('reports liveness and readiness', async () => {
    expect(await ask(app, '/livez')).toEqual({ status: 200, text: 'ok\n' });
    expect(await ask(app, '/readyz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await ask(app, '/elsewhere')).toMatchObject({ status: 404 });
  });

  it('shows the process, the build and the transport', async () => {
    const { text } = await ask(app, '/metrics');
    expect(text).toContain(`podcast_sync_build_info{app="${app}",version="1.2.3"} 1`);
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
    expect(text).toMatch(/^podcast_sync_transport_reconnects_total 0$/m);
  });
});

it('requests are counted by route and by contract, without the ids in them', async () => {
  const device = await stack.device(processOf('gateway'));
  await device.send('GET', '/subscriptions/00000000-0000-4000-8000-000000000000');
  await eventually(async () =>
    expect((await ask('gateway', '/metrics')).text).toContain(
      'podcast_sync_http_request_duration_seconds_count{method="GET",route="/subscriptions/:guid",status="404"} 1',
    ),
  );
  expect((await ask('subscription', '/metrics')).text).toContain(
    'podcast_sync_rpc_handler_duration_seconds_count{contract="subscription.get",outcome="not_found"} 1',
  );
  expect((await ask('subscription', '/metrics')).text).toMatch(
    /podcast_sync_postgres_connections{state="idle"} [1-9]/,
  );
});

describe('readiness', () => {
  it('of a service follows Postgres; the gateway stays ready, and all processes live', async () => {
    await stack.postgresServer.stop();
    for (const app of ['subscription', 'episode', 'deletion-worker'])
      await eventually(async () =>
        expect(await ask(app, '/readyz')).toMatchObject({ status: 503 }),
      );
    for (const app of apps) expect(await ask(app, '/livez')).toMatchObject({ status: 200 });
    expect(await ask('gateway', '/readyz')).toMatchObject({ status: 200 });
    await stack.postgresServer.start();
    for (const app of apps)
      await eventually(async () =>
        expect(await ask(app, '/readyz')).toMatchObject({ status: 200 }),
      );
  });

  it('of a service follows Redis; the gateway stays ready', async () => {
    await stack.redis.kill();
    await eventually(async () =>
      expect(await ask('episode', '/readyz')).toEqual({
        status: 503,
        text: 'Redis: reconnecting\n',
      }),
    );
    expect(await ask('gateway', '/readyz')).toMatchObject({ status: 200 });
    await stack.redis.start();
    await eventually(async () =>
      expect(await ask('episode', '/readyz')).toMatchObject({ status: 200 }),
    );
  });

  it('requires every migration, and ignores those that the build does not have', async () => {
    const owner = new pg.Client({ connectionString: stack.postgres.url });
    await owner.connect();
    const name = 'CreateEpisode1764195000003';
    await owner.query("UPDATE sync.migrations SET name = 'Newer9999999999999' WHERE name = $1", [
      name,
    ]);
    expect(await ask('episode', '/readyz')).toEqual({
      status: 503,
      text: `migration not applied: ${name}\n`,
    });
    await owner.query("UPDATE sync.migrations SET name = $1 WHERE name = 'Newer9999999999999'", [
      name,
    ]);
    await owner.query(
      "INSERT INTO sync.migrations (timestamp, name) VALUES (9999999999999, 'Newer9999999999999')",
    );
    expect(await ask('episode', '/readyz')).toMatchObject({ status: 200 });
    await owner.end();
  });
});

it('a gateway that starts without Redis refuses requests, and serves with Redis', async () => {
  await stack.redis.stop();
  const limits = { RATE_LIMIT_PER_USER: '1000/60', RATE_LIMIT_PER_ADDRESS: '1000/60' };
  const [gateway] = await stack.start(['gateway'], { OPS_PORT: '0', ...limits });
  const ready = () => fetch(`http://127.0.0.1:${String(gateway!.facts['opsPort'])}/readyz`);
  const device = await stack.device(gateway!);
  for (const [path] of Object.values(probes)) expectRefused(await device.send('GET', path));
  const unready = await ready();
  expect([unready.status, await unready.text()]).toEqual([503, expect.stringContaining('Redis')]);

  await stack.redis.start();
  for (const [path, status] of Object.values(probes))
    await eventually(async () => expect(await device.send('GET', path)).toMatchObject({ status }));
  await eventually(async () => expect((await ready()).status).toBe(200));
});

/** A raw connection with its received text. */
function rawConnection(port: number) {
  const socket = connect(port, '127.0.0.1');
  const connection = {
    received: '',
    isOver: false,
    send: (text: string) => void socket.write(text.replaceAll('\n', '\r\n')),
    answers: () => connection.received.split(/(?=HTTP\/1\.1 )/),
  };
  socket.on('data', (chunk: Buffer) => (connection.received += chunk.toString()));
  socket.on('close', () => (connection.isOver = true));
  socket.on('error', () => undefined);
  return connection;
}

/** Returns true if a port accepts connections. */
function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

it('a stopping gateway becomes unready, serves, and answers with Connection: close', async () => {
  const draining = { OPS_PORT: '0', DRAIN_SECONDS: '2' };
  const [gateway] = (await stack.start(['gateway'], draining)) as [AppProcess];
  const port = Number(gateway.facts['port']);
  const { token } = await stack.device(gateway);
  const head = `Host: x\nAuthorization: Bearer ${token}\n`;
  const connection = rawConnection(port);
  const answers = (count: number) =>
    eventually(() =>
      expect(connection.answers().filter((text) => /\r\n\r\n/.test(text))).toHaveLength(count),
    );

  const began = performance.now();
  const stopped = gateway.stop();
  const readyz = `http://127.0.0.1:${String(gateway.facts['opsPort'])}/readyz`;
  await eventually(async () => expect((await fetch(readyz)).status).toBe(503));
  connection.send(`GET /subscriptions HTTP/1.1\n${head}\n`);
  await answers(1);
  expect(connection.received).toMatch(/^HTTP\/1\.1 200 /);
  expect(connection.received).not.toMatch(/connection: close/i);

  const body = '{"subscriptions": []}';
  const length = `Content-Type: application/json\nContent-Length: ${body.length}\n`;
  connection.send(`POST /subscriptions HTTP/1.1\n${head}${length}\n${body.slice(0, 5)}`);
  await eventually(async () => expect(await listens(port)).toBe(false));
  connection.send(`${body.slice(5)}`);
  await answers(2);
  expect(connection.answers()[1]).toMatch(/^HTTP\/1\.1 200 /);
  expect(connection.answers()[1]).toMatch(/connection: close/i);
  await eventually(() => expect(connection.isOver).toBe(true));
  await stopped;
  const tookMs = performance.now() - began;
  console.info(`stopped within ${Math.round(tookMs)} ms, 2,000 of them its drain`);
  // Far below the minute for which an idle connection is kept.
  expect(tookMs).toBeLessThan(40_000);
  expect(gateway.output).not.toMatch(/"level":"(error|fatal)"/);
});
