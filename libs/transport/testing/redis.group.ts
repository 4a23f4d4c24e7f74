import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from '#testing';

interface Node {
  readonly port: number;
  readonly child: ChildProcess;
}

/** Several `redis-server`s of PATH that stand in for each other: a Cluster, or a master with Sentinels. */
export class RedisGroup {
  private readonly directory = mkdtempSync(join(tmpdir(), 'podcast-sync-redis-group-'));
  private readonly nodes: Node[] = [];
  /** What `redisConfig` reads to reach it. */
  environment: Record<string, string> = {};

  /** Three masters with a replica each. */
  static async cluster(): Promise<RedisGroup> {
    const group = new RedisGroup();
    const settings = 'cluster-enabled yes\ncluster-node-timeout 1000\ncluster-replica-validity-factor 0\n';
    for (let n = 0; n < 6; n += 1) await group.start(settings);
    const [first, ...others] = group.nodes;
    for (const node of others) await group.ask(first!, 'CLUSTER', 'MEET', '127.0.0.1', node.port);
    const slots = [0, 5_461, 10_923, 16_384];
    for (const [n, node] of group.nodes.slice(0, 3).entries())
      await group.ask(node, 'CLUSTER', 'ADDSLOTSRANGE', slots[n]!, slots[n + 1]! - 1);
    for (const [n, node] of group.nodes.slice(3).entries()) {
      const master = String(await group.ask(group.nodes[n]!, 'CLUSTER', 'MYID'));
      await eventually(() => group.ask(node, 'CLUSTER', 'REPLICATE', master), { timeout: 10_000 });
    }
    for (const node of group.nodes) await group.says(node, ['CLUSTER', 'INFO'], 'cluster_state:ok');
    for (const node of group.nodes.slice(3)) await group.isInSync(node);
    group.environment = { REDIS_CLUSTER: group.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',') };
    return group;
  }

  /** A master with a replica, watched by three Sentinels. */
  static async sentinels(): Promise<RedisGroup> {
    const group = new RedisGroup();
    const master = await group.start('');
    const replica = await group.start(`replicaof 127.0.0.1 ${master.port}\n`);
    const watch = `sentinel monitor mymaster 127.0.0.1 ${master.port} 2\n`;
    const soon = 'sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n';
    const watchers = [];
    for (let n = 0; n < 3; n += 1) watchers.push(await group.start(watch + soon, '--sentinel'));
    await group.isInSync(replica);
    for (const watcher of watchers)
      await group.says(watcher, ['SENTINEL', 'MASTER', 'mymaster'], 'num-slaves,1', 'num-other-sentinels,2');
    group.environment = { REDIS_SENTINELS: watchers.map(({ port }) => `127.0.0.1:${port}`).join(',') };
    return group;
  }

  /** Ends the server that owns a key, as a crash would. */
  async killMasterOf(key: string): Promise<void> {
    for (const node of this.nodes.filter(({ child }) => child.exitCode === null && child.signalCode === null)) {
      const role = (await this.ask(node, 'ROLE')) as [string];
      // A Cluster's other nodes answer that the key has moved.
      const owns =
        role[0] === 'master' &&
        (await this.ask(node, 'EXISTS', key).then(
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
    await Promise.all(this.nodes.map(({ child }) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
    rmSync(this.directory, { recursive: true });
  }

  private async start(settings: string, ...flags: string[]): Promise<Node> {
    const port = await freePort();
    const directory = join(this.directory, String(port));
    mkdirSync(directory);
    const file = join(directory, 'redis.conf');
    writeFileSync(
      file,
      `bind 127.0.0.1\nport ${port}\ndir ${directory}\nsave ""\nrepl-diskless-sync-delay 0\n${settings}`,
    );
    const child = spawn('redis-server', [file, ...flags], { stdio: 'ignore' });
    const node = { port, child };
    this.nodes.push(node);
    await eventually(() => this.ask(node, 'PING'));
    return node;
  }

  private isInSync(replica: Node): Promise<void> {
    return this.says(replica, ['ROLE'], 'connected');
  }

  /** Waits until a server's answer to a question contains all of some words. */
  private async says(node: Node, [command, ...parts]: [string, ...string[]], ...words: string[]): Promise<void> {
    await eventually(
      async () => {
        const answer = String(await this.ask(node, command, ...parts));
        if (!words.every((word) => answer.includes(word))) throw new Error(`${words.join(', ')} is not in ${answer}`);
      },
      { timeout: 10_000 },
    );
  }

  private async ask({ port }: Node, command: string, ...parts: (string | number)[]): Promise<unknown> {
    const redis = new Redis({ port, lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => {});
    try {
      await redis.connect();
      return await redis.call(command, ...parts);
    } finally {
      redis.disconnect();
    }
  }
}

/** A port whose bus port (10,000 above) exists as well. */
async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    if (port < 55_000) return port;
  }
}
