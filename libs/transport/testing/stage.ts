import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer, type TestServer } from '#testing';
import { StreamClient, type StreamClientOptions } from '../src/index.js';
import { ChildReplica } from './child.replica.js';
import type { ProbeProcessOptions } from './probe.process.js';
import { connectTo, memoryLog, type RedisEnvironment } from './probe.replica.js';
import type { RedisGroup } from './redis.group.js';

/** A run of one replica. */
export interface Run {
  readonly replica: string;
  readonly text: string;
}

/** All that one case of the failure suite needs: a Redis of its own, replicas in processes of their own, gateways. */
export class Stage {
  private readonly replicas: Promise<ChildReplica>[] = [];
  private readonly clients: StreamClient[] = [];
  private readonly directory = mkdtempSync(join(tmpdir(), 'podcast-sync-transport-'));
  private readonly runsFile = join(this.directory, 'runs');

  private constructor(
    private readonly environment: RedisEnvironment,
    private readonly server?: TestServer,
  ) {}

  /** Plays a case on a stage of its own and clears it away. */
  static async play(
    play: (stage: Stage) => Promise<void>,
    { durable = false } = {},
  ): Promise<void> {
    const server = await startRedisServer({ durable });
    try {
      await new Stage({ REDIS_URL: server.url }, server).run(play);
    } finally {
      await server.dispose();
    }
  }

  /** Plays a case on a group of Redis servers, and clears both away. */
  static async playOn(group: RedisGroup, play: (stage: Stage) => Promise<void>): Promise<void> {
    try {
      await new Stage(group.environment).run(play);
    } finally {
      await group.dispose();
    }
  }

  /** The Redis of this case alone. */
  get redis(): TestServer {
    if (!this.server) throw new Error('this case is played on a group of servers');
    return this.server;
  }

  async replica(
    name: string,
    { skewMs, ...options }: Partial<ProbeProcessOptions> & { skewMs?: number } = {},
  ): Promise<ChildReplica> {
    // One that is still starting when the case ends is cleared away too.
    const replica = ChildReplica.start(
      { environment: this.environment, name, runsFile: this.runsFile, ...options },
      { skewMs },
    );
    this.replicas.push(replica);
    return replica;
  }

  async gateway(options: Partial<StreamClientOptions> = {}): Promise<StreamClient> {
    const connect = () => connectTo(this.environment);
    const client = new StreamClient({
      connect,
      log: memoryLog().log,
      services: ['episode'],
      ...options,
    });
    this.clients.push(client);
    await client.connect();
    return client;
  }

  /** All runs of all replicas so far, in the order in which they began. */
  runs(): Run[] {
    if (!existsSync(this.runsFile)) return [];
    const lines = readFileSync(this.runsFile, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => ({ replica: line.split(' ')[0]!, text: line.split(' ')[1]! }));
  }

  /** The texts that were run more than once, and how often. */
  rerun(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { text } of this.runs()) counts.set(text, (counts.get(text) ?? 0) + 1);
    return new Map([...counts].filter(([, count]) => count > 1));
  }

  private async run(play: (stage: Stage) => Promise<void>): Promise<void> {
    try {
      await play(this);
    } finally {
      await this.clear();
    }
  }

  private async clear(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
    await Promise.all(this.replicas.map((replica) => replica.then((started) => started.kill())));
    rmSync(this.directory, { recursive: true });
  }
}
