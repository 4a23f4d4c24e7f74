import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { freePort, removeRedis, startRedis, type EmbeddedServer } from '#embedded';
import type { BenchProcessOptions, Burst, BurstResult, Kind, Place, Usage } from './bench.contracts.js';

/** A Redis that had to be fetched is kept for the next one. */
const programs = fileURLToPath(new URL('../../.data/programs', import.meta.url));
const program = fileURLToPath(new URL('bench.process.ts', import.meta.url));
const register = new URL('../../libs/transport/testing/typescript.register.js', import.meta.url).href;

/** What one burst cost and how fast it was. */
export interface Measurement {
  readonly callsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU per call in microseconds: gateway, replicas and Redis. */
  readonly cpu: number;
  /** Handlers run per call. */
  readonly runs: number;
}

/** A transport with its replicas, gateway and Redis, each in a process of its own that stays up between bursts. */
export class Variant {
  private readonly replicas: ChildProcess[] = [];
  private gateway?: ChildProcess;
  private server?: EmbeddedServer;
  private admin?: Redis;
  private readonly directory = mkdtempSync(join(tmpdir(), 'podcast-sync-bench-'));

  constructor(
    readonly kind: Kind,
    readonly replicaCount: number,
  ) {}

  /** @throws Error when a process ends while it starts. */
  async start(): Promise<void> {
    const place = await this.place();
    const replicas = Array.from({ length: this.replicaCount }, () => this.launch({ ...place, role: 'replica' }));
    this.replicas.push(...(await Promise.all(replicas)));
    this.gateway = await this.launch({ ...place, role: 'gateway' });
  }

  /** Ends all processes and removes what they wrote; also after a start that failed. */
  async stop(): Promise<void> {
    this.admin?.disconnect();
    const children = [...this.replicas, ...(this.gateway ? [this.gateway] : [])];
    await Promise.all(children.map((child) => ended(child)));
    await this.server?.stop();
    await removeRedis(this.directory);
  }

  async measure(burst: Burst): Promise<Measurement> {
    const before = await this.usage();
    const result = await ask<BurstResult>(this.gateway!, burst);
    const after = await this.settled();
    return {
      callsPerSecond: result.calls / result.seconds,
      p50: result.p50,
      p99: result.p99,
      cpu: (after.cpu - before.cpu) / result.calls,
      runs: (after.runs - before.runs) / result.calls,
    };
  }

  /** Version of the Redis that this variant uses. */
  async redisVersion(): Promise<string | undefined> {
    return /redis_version:(\S+)/.exec((await this.admin?.info('server')) ?? '')?.[1];
  }

  private async place(): Promise<Place> {
    const { kind } = this;
    if (kind === 'tcp') return { kind, redisUrl: '', port: await freePort() };
    this.server = await startRedis({ directory: this.directory, programs, durable: false });
    this.admin = new Redis(this.server.url);
    return { kind, redisUrl: this.server.url, port: 0 };
  }

  private async launch(options: BenchProcessOptions): Promise<ChildProcess> {
    const child = fork(program, [JSON.stringify(options)], {
      execArgv: ['--conditions=podcast-sync', '--import', register],
    });
    if ((await nextMessage(child)) === 'ready') return child;
    throw new Error(`the ${options.role} of ${options.kind} did not start`);
  }

  private async usage(): Promise<Usage> {
    const asked = [this.gateway!, ...this.replicas].map((child) => ask<Usage>(child, 'usage'));
    const used = await Promise.all([...asked, this.redisUsage()]);
    return { cpu: sum(used.map(({ cpu }) => cpu)), runs: sum(used.map(({ runs }) => runs)) };
  }

  /** What was used once nothing runs any more: after publish and subscribe the slower replicas are still at work. */
  private async settled(): Promise<Usage> {
    for (let used = await this.usage(); ;) {
      await delay(50);
      const next = await this.usage();
      if (next.runs === used.runs) return used;
      used = next;
    }
  }

  private async redisUsage(): Promise<Usage> {
    const info = (await this.admin?.info('cpu')) ?? '';
    const seconds = [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)].map(([, value]) => Number(value));
    return { cpu: sum(seconds) * 1_000_000, runs: 0 };
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function ask<Answer>(child: ChildProcess, message: Burst | 'usage'): Promise<Answer> {
  child.send(message);
  return nextMessage(child) as Promise<Answer>;
}

/** The next message of a child. */
async function nextMessage(child: ChildProcess): Promise<unknown> {
  const done = new AbortController();
  const exit = once(child, 'exit', done).then(() =>
    Promise.reject(new Error('a process of the bench ended by itself')),
  );
  try {
    const [message] = (await Promise.race([once(child, 'message', done), exit])) as [unknown];
    return message;
  } finally {
    done.abort();
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
