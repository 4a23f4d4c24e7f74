import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { generate } from 'selfsigned';
import { inject } from 'vitest';
import { startOnFreePort, findOrFetchRedis } from '#embedded';
import { eventually } from '#testing';

interface Node {
  readonly port: number;
  readonly child: ChildProcess;
}

/** Maximum time in ms until a server or the group is ready. */
const startLimitMs = 30_000;

/** Credentials and certificate of secured servers. */
interface Secrets {
  readonly password: string;
  /** Self-signed certificate (PEM). */
  readonly certificate: string;
  readonly privateKey: string;
}

/**
 * A group of Redis servers: a single server, a Cluster, or a master with Sentinels. They run the
 * program that `libs/embedded` finds or fetches. Secured servers accept TLS only and require a
 * password.
 */
export class RedisGroup {
  private readonly directory = mkdtempSync(join(tmpdir(), 'podcast-sync-redis-group-'));
  private readonly nodes: Node[] = [];
  /** Environment variables of `redisConfig` for this group. */
  environment: Record<string, string> = {};

  private constructor(private readonly secrets?: Secrets) {}

  /** Starts one server. */
  static async single({ secured = false, settings = '' } = {}): Promise<RedisGroup> {
    const group = await RedisGroup.empty(secured);
    const { port } = await group.start(settings);
    group.environment = secured
      ? { REDIS_URL: `rediss://127.0.0.1:${port}`, ...group.credentials() }
      : { REDIS_URL: `redis://127.0.0.1:${port}` };
    return group;
  }

  /** Starts three masters with a replica each. */
  static async cluster({ secured = false } = {}): Promise<RedisGroup> {
    const group = await RedisGroup.empty(secured);
    const settings =
      'cluster-enabled yes\ncluster-node-timeout 1000\ncluster-replica-validity-factor 0\n';
    for (let n = 0; n < 6; n += 1) await group.start(settings);
    const [first, ...others] = group.nodes;
    for (const node of others)
      await group.sendCommand(first!, 'CLUSTER', 'MEET', '127.0.0.1', node.port);
    const slots = [0, 5_461, 10_923, 16_384];
    for (const [n, node] of group.nodes.slice(0, 3).entries()) {
      const [from, to] = [slots[n]!, slots[n + 1]!];
      await group.sendCommand(
        node,
        'CLUSTER',
        'ADDSLOTS',
        ...Array.from({ length: to - from }, (_, slot) => from + slot),
      );
    }
    for (const [n, node] of group.nodes.slice(3).entries()) {
      const master = String(await group.sendCommand(group.nodes[n]!, 'CLUSTER', 'MYID'));
      await eventually(() => group.sendCommand(node, 'CLUSTER', 'REPLICATE', master), {
        timeout: startLimitMs,
      });
    }
    for (const node of group.nodes)
      await group.waitForAnswer(node, ['CLUSTER', 'INFO'], 'cluster_state:ok');
    for (const node of group.nodes.slice(3)) await group.waitUntilInSync(node);
    group.environment = { REDIS_CLUSTER: group.addresses(group.nodes), ...group.credentials() };
    return group;
  }

  /** Starts a master with a replica and three Sentinels. */
  static async sentinels({ secured = false } = {}): Promise<RedisGroup> {
    const group = await RedisGroup.empty(secured);
    const master = await group.start('');
    const replica = await group.start(`replicaof 127.0.0.1 ${master.port}\n`);
    const monitorSetting = `sentinel monitor mymaster 127.0.0.1 ${master.port} 2\n`;
    const fastDetection =
      'sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n';
    const pass = group.secrets ? `sentinel auth-pass mymaster ${group.secrets.password}\n` : '';
    const watchers = [];
    for (let n = 0; n < 3; n += 1)
      watchers.push(await group.start(monitorSetting + fastDetection + pass, '--sentinel'));
    await group.waitUntilInSync(replica);
    for (const watcher of watchers)
      await group.waitForAnswer(
        watcher,
        ['SENTINEL', 'MASTER', 'mymaster'],
        'num-slaves,1',
        'num-other-sentinels,2',
      );
    group.environment = { REDIS_SENTINELS: group.addresses(watchers), ...group.credentials() };
    if (group.secrets) group.environment.REDIS_SENTINEL_PASSWORD = group.secrets.password;
    return group;
  }

  private static async empty(secured: boolean): Promise<RedisGroup> {
    return new RedisGroup(secured ? await newSecrets() : undefined);
  }

  /** Kills the server that owns a key. */
  async killMasterOf(key: string): Promise<void> {
    for (const node of this.nodes.filter(
      ({ child }) => child.exitCode === null && child.signalCode === null,
    )) {
      const role = (await this.sendCommand(node, 'ROLE')) as [string];
      // A node of a Cluster that does not own the key answers with an error (MOVED).
      const owns =
        role[0] === 'master' &&
        (await this.sendCommand(node, 'EXISTS', key).then(
          () => true,
          () => false,
        ));
      if (!owns) continue;
      node.child.kill('SIGKILL');
      await once(node.child, 'exit');
      return;
    }
    throw new Error(`no server owns ${key}`);
  }

  async dispose(): Promise<void> {
    for (const { child } of this.nodes) child.kill('SIGKILL');
    await Promise.all(
      this.nodes.map(({ child }) => child.exitCode ?? child.signalCode ?? once(child, 'exit')),
    );
    rmSync(this.directory, { recursive: true });
  }

  private start(settings: string, ...flags: string[]): Promise<Node> {
    return startOnFreePort((port) => this.startOn(port, settings, flags));
  }

  private async startOn(port: number, settings: string, flags: string[]): Promise<Node> {
    const directory = join(this.directory, String(port));
    mkdirSync(directory, { recursive: true });
    const file = join(directory, 'redis.conf');
    writeFileSync(
      file,
      `bind 127.0.0.1\n${this.accessSettings(port)}dir ${directory}\n` +
        `save ""\nrepl-diskless-sync-delay 0\n${settings}`,
    );
    const { command, env } = await findOrFetchRedis(inject('servers').programs, console.log);
    const child = spawn(command, [file, ...flags], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const node = { port, child };
    const ended = once(child, 'close').then(() => Promise.reject(new Error(output)));
    await Promise.race([
      eventually(() => this.sendCommand(node, 'PING'), { timeout: startLimitMs }),
      ended,
    ]);
    this.nodes.push(node);
    return node;
  }

  /** Returns the lines of redis.conf about port, TLS and passwords. */
  private accessSettings(port: number): string {
    if (!this.secrets) return `port ${port}\n`;
    const { password, certificate, privateKey } = this.secrets;
    const files = [
      join(this.directory, 'certificate.pem'),
      join(this.directory, 'key.pem'),
    ] as const;
    writeFileSync(files[0], certificate);
    writeFileSync(files[1], privateKey, { mode: 0o600 });
    return (
      `port 0\ntls-port ${port}\ntls-cert-file ${files[0]}\ntls-key-file ${files[1]}\n` +
      `tls-ca-cert-file ${files[0]}\ntls-auth-clients no\ntls-replication yes\n` +
      `tls-cluster yes\nrequirepass ${password}\nmasterauth ${password}\n`
    );
  }

  private addresses(nodes: readonly Node[]): string {
    return nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  }

  private credentials(): Record<string, string> {
    if (!this.secrets) return {};
    const { password, certificate } = this.secrets;
    return { REDIS_TLS: 'true', REDIS_TLS_CA: certificate, REDIS_PASSWORD: password };
  }

  private waitUntilInSync(replica: Node): Promise<void> {
    return this.waitForAnswer(replica, ['ROLE'], 'connected');
  }

  /** Waits until a server's answer to a command contains all words. */
  private async waitForAnswer(
    node: Node,
    [command, ...parts]: [string, ...string[]],
    ...words: string[]
  ): Promise<void> {
    await eventually(
      async () => {
        const answer = String(await this.sendCommand(node, command, ...parts));
        if (!words.every((word) => answer.includes(word)))
          throw new Error(`${words.join(', ')} is not in ${answer}`);
      },
      { timeout: startLimitMs },
    );
  }

  private async sendCommand(
    { port }: Node,
    command: string,
    ...parts: (string | number)[]
  ): Promise<unknown> {
    const { secrets } = this;
    const secured = secrets && { password: secrets.password, tls: { ca: secrets.certificate } };
    const redis = new Redis({ port, ...secured, lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => {});
    try {
      await redis.connect();
      return await redis.call(command, ...parts);
    } finally {
      redis.disconnect();
    }
  }
}

async function newSecrets(): Promise<Secrets> {
  const { cert: certificate, private: privateKey } = await generate(
    [{ name: 'commonName', value: 'localhost' }],
    {
      keyType: 'ec',
      algorithm: 'sha256',
      extensions: [
        { name: 'basicConstraints', cA: true },
        { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
      ],
    },
  );
  return { password: randomUUID(), certificate, privateKey };
}
