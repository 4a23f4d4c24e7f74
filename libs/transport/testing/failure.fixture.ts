import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer, type TestServer } from '#testing';
import { StreamClient, type StreamClientOptions } from '../src/index.js';
import { ChildReplica } from './child-replica.js';
import type { ProbeProcessOptions } from './probe-process.js';
import { connectTo, memoryLog, type RedisEnvironment } from './probe-replica.js';
import type { RedisGroup } from './redis-group.js';

/** One run of a request by a replica. */
export interface Run {
  readonly replica: string;
  readonly text: string;
}

/** Environment of a case of the failure suite: its own Redis, replica processes and gateways. */
export class FailureFixture {
  private readonly replicas: Promise<ChildReplica>[] = [];
  private readonly clients: StreamClient[] = [];
  private readonly directory = mkdtempSync(join(tmpdir(), 'podcast-sync-transport-'));
  private readonly runsFile = join(this.directory, 'runs');

  private constructor(
    private readonly environment: RedisEnvironment,
    private readonly server?: TestServer,
  ) {}

  /** Runs a test case with a fixture of its own, and disposes the fixture. */
  static async run(
    testCase: (fixture: FailureFixture) => Promise<void>,
    { durable = false } = {},
  ): Promise<void> {
    const server = await startRedisServer({ durable });
    try {
      await new FailureFixture({ REDIS_URL: server.url }, server).runAndClear(testCase);
    } finally {
      await server.dispose();
    }
  }

  /** Runs a test case on a group of Redis servers, and disposes fixture and group. */
  static async runOn(
    group: RedisGroup,
    testCase: (fixture: FailureFixture) => Promise<void>,
  ): Promise<void> {
    try {
      await new FailureFixture(group.environment).runAndClear(testCase);
    } finally {
      await group.dispose();
    }
  }

  /** The Redis of this case. @throws Error on a group of servers. */
  get redis(): TestServer {
    if (!this.server) throw new Error('this case runs on a group of servers');
    return this.server;
  }

  async startReplica(
    name: string,
    { skewMs, ...options }: Partial<ProbeProcessOptions> & { skewMs?: number } = {},
  ): Promise<ChildReplica> {
    // Keeps the promise, so that a replica that still starts at the end of the case is ended too.
    const replica = ChildReplica.start(
      { environment: this.environment, name, runsFile: this.runsFile, ...options },
      { skewMs },
    );
    this.replicas.push(replica);
    return replica;
  }

  async connectGateway(options: Partial<StreamClientOptions> = {}): Promise<StreamClient> {
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

  /** Returns all runs of all replicas so far, in order of their start. */
  runs(): Run[] {
    if (!existsSync(this.runsFile)) return [];
    const lines = readFileSync(this.runsFile, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => ({ replica: line.split(' ')[0]!, text: line.split(' ')[1]! }));
  }

  /** Returns the number of runs by request text, for requests that ran more than once. */
  rerun(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { text } of this.runs()) counts.set(text, (counts.get(text) ?? 0) + 1);
    return new Map([...counts].filter(([, count]) => count > 1));
  }

  private async runAndClear(testCase: (fixture: FailureFixture) => Promise<void>): Promise<void> {
    try {
      await testCase(this);
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
