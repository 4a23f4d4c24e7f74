import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KeyFiles, removePostgres, removeRedis, startPostgres } from '#embedded';
import { importJWK, SignJWT } from 'jose';
import pg from 'pg';

const thisCheckout = fileURLToPath(new URL('..', import.meta.url));

/**
 * Starts the whole built system on a durable Postgres, from this checkout or another. `stop`
 * removes all data.
 *
 * @param options.environment variables of the apps.
 */
export async function startSystem(
  say,
  { replicas = 1, checkout = thisCheckout, environment = {} } = {},
) {
  // The current path, and that of earlier releases.
  const [standalone] = [['dist/programs/podcast-sync.js', 'start'], ['dist/programs/standalone.js']]
    .map(([path, ...command]) => [join(checkout, path), ...command])
    .filter(([path]) => existsSync(path));
  if (!standalone) throw new Error(`${checkout} is not built`);
  const root = mkdtempSync(join(tmpdir(), 'podcast-sync-bench-'));
  chmodSync(root, 0o711);
  const data = join(root, 'data');
  const postgres = await startPostgres({
    directory: join(root, 'postgres'),
    database: 'bench',
    reportProgress: say,
  });
  const connections = [];
  const connect = async () => {
    const client = new pg.Client({ connectionString: postgres.url });
    connections.push(client);
    await client.connect();
    return client;
  };
  let apps;
  const interrupted = () => void stop().finally(() => process.exit(130));
  const stop = async () => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, interrupted);
    await Promise.all(connections.map((client) => client.end()));
    await apps?.stop();
    await postgres.stop();
    await removePostgres(join(root, 'postgres'));
    await removeRedis(join(data, 'redis'));
    rmSync(root, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupted);
  try {
    say('Starting the system ...');
    apps = await startApps(standalone, data, postgres.url, replicas, environment);
    const client = new Client(
      apps.baseUrl,
      (await KeyFiles.open(join(data, 'keys', 'account'))).readSigningKey(),
    );
    /** Restarts the apps with a number of replicas on the same data. Tokens remain valid. */
    const restart = async (count) => {
      await apps.stop();
      const { port } = new URL(apps.baseUrl);
      apps = await startApps(standalone, data, postgres.url, count, environment, port);
      Object.assign(client, { baseUrl: apps.baseUrl, pids: [apps.pid] });
    };
    const { url: postgresUrl, pid: postgresPid } = postgres;
    const owner = await connect();
    // No checkpoints during a run: after one, Postgres logs whole pages.
    for (const setting of ["checkpoint_timeout = '1d'", "max_wal_size = '32GB'"])
      await owner.query(`ALTER SYSTEM SET ${setting}`);
    await owner.query('SELECT pg_reload_conf()');
    const servers = { owner, clock: await connect(), postgresUrl, postgresPid };
    return Object.assign(client, servers, { data, pids: [apps.pid], restart, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts Redis and all apps, as children of one process. */
async function startApps(
  [program, ...command],
  data,
  postgresUrl,
  replicas,
  environment,
  port = '0',
) {
  const options = ['--data', data, '--port', port, '--replicas', String(replicas)];
  const child = fork(program, [...command, ...options], {
    env: { ...process.env, LOG_LEVEL: 'warn', ...environment, POSTGRES_URL: postgresUrl },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  const message = await Promise.race([
    once(child, 'message').then(([said]) => said),
    ended.then(() => undefined),
  ]);
  if (!message) throw new Error('the system did not start');
  const { baseUrl } = message.facts;
  return { pid: child.pid, baseUrl, stop };
}

/** Sends requests of users whose tokens the system's account app would sign. */
export class Client {
  /** @param key the signing key of the system's account app. */
  constructor(baseUrl, key) {
    this.baseUrl = baseUrl;
    this.key = key;
  }

  async user() {
    const id = randomUUID();
    const token = new SignJWT()
      .setProtectedHeader({ alg: 'EdDSA', kid: this.key.kid })
      .setSubject(id)
      .setIssuer(this.baseUrl)
      .setAudience('podcast-sync')
      .setExpirationTime('1d');
    return { id, token: await token.sign(await importJWK(this.key, 'EdDSA')) };
  }

  async send({ token }, method, path, body) {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  async call(user, method, path, expected, body) {
    const answer = await this.send(user, method, path, body);
    if (answer.status !== expected)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}
