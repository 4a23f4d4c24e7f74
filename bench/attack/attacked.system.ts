import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, type AppProcess, AppStack, Device, eventually, repository } from '#testing';
import { parse } from 'yaml';

/** The processes, in the order of the table's columns. */
export const apps = [
  'gateway',
  'subscription',
  'episode',
  'deletion-worker',
  'account',
  'gpodder',
] as const satisfies App[];

/** What a process was like while it was watched. */
export interface ProcessReport {
  readonly app: App;
  /** The longest that its event loop stood still, in milliseconds; `undefined` where it ended. */
  readonly stoodStillMs: number | undefined;
  /** How long it had a processor, in milliseconds; unlike times by the clock the same on a busy machine. */
  readonly busyMs: number;
  /** The most memory it had, and what its container may have; in bytes. */
  readonly peakBytes: number | undefined;
  readonly limitBytes: number;
}

/** The container of an app as the chart makes it. */
interface Container {
  readonly limitBytes: number;
  readonly nodeOptions: string;
}

/** How long a process may keep silent, and how soon it answers when all is well; in milliseconds. */
const [silenceMs, calmMs] = [10_000, 1_000];

/**
 * One process of each app with the heap of its container, and how they are watched. Only on Linux, whose kernel keeps
 * the peak of each process' memory.
 */
export class AttackedSystem {
  private readonly containers = new Map(apps.map((app) => [app, containerOf(app)]));
  private readonly processes = new Map<App, AppProcess>();
  private readonly busyBefore = new Map<number, number>();

  private constructor(
    private readonly stack: AppStack,
    private readonly monitors: string,
  ) {}

  static async open(): Promise<AttackedSystem> {
    const monitors = mkdtempSync(join(tmpdir(), 'podcast-sync-monitors-'));
    const system = new AttackedSystem(await AppStack.open({ environment: { AUTH_APP_PASSWORDS: 'on' } }), monitors);
    await system.complete();
    return system;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return Number(this.processes.get('gateway')?.facts['port']);
  }

  /** A device of a user of whom nothing is known. */
  device(): Promise<Device> {
    return this.stack.device(this.processes.get('gateway') as AppProcess);
  }

  /** Where the gpodder API is. */
  get gpodderPort(): number {
    return Number(this.processes.get('gpodder')?.facts['port']);
  }

  /** A client of the gpodder API, of somebody new; its user is a name. */
  async gpodderClient(): Promise<Device> {
    const { name, password } = await this.stack.appPassword();
    return new Device(`http://127.0.0.1:${this.gpodderPort}`, password, name);
  }

  /** Starts anew what has ended, or has grown so far that the next attack would not show; waits until all is well. */
  async complete(): Promise<void> {
    await eventually(
      async () => {
        for (const app of apps) await this.renew(app);
        const device = await this.device();
        for (const [path, status] of Object.entries({ '/subscriptions': 200, '/episodes': 200, '/deletions/1': 404 })) {
          const answer = await device.send('GET', path);
          if (answer.status !== status || answer.tookMs > calmMs) throw new Error(`${path}: ${answer.status}`);
        }
      },
      { timeout: 60_000 },
    );
  }

  private async renew(app: (typeof apps)[number]): Promise<void> {
    const { nodeOptions, limitBytes } = this.containers.get(app) as Container;
    const before = this.processes.get(app);
    if (before && (memory(before.pid, 'VmRSS') ?? 0) > (limitBytes * 3) / 4) await before.kill();
    if (before?.hasExited === false) return;
    const monitor = join(repository, 'bench', 'attack', 'process.monitor.mjs');
    const environment = { NODE_OPTIONS: `${nodeOptions} --import=${monitor}`, MONITORS: this.monitors };
    const [process] = await this.stack.start([app], environment);
    this.processes.set(app, process as AppProcess);
  }

  /** Begins to watch: what was before does not count. */
  async watch(): Promise<void> {
    for (const { pid } of this.running()) {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
      await this.stoodStill(pid);
      this.busyBefore.set(pid, busyMs(pid));
    }
  }

  /** What each process was like since {@link watch}. */
  report(): Promise<ProcessReport[]> {
    return Promise.all(
      apps.map(async (app) => {
        const { pid, hasExited } = this.processes.get(app) as AppProcess;
        const { limitBytes } = this.containers.get(app) as Container;
        const stoodStillMs = hasExited ? undefined : await this.stoodStill(pid);
        const busy = Math.max(busyMs(pid) - (this.busyBefore.get(pid) ?? 0), 0);
        return { app, stoodStillMs, busyMs: busy, peakBytes: memory(pid, 'VmHWM'), limitBytes };
      }),
    );
  }

  async close(): Promise<void> {
    await this.stack.close();
    rmSync(this.monitors, { recursive: true, force: true });
  }

  private running(): AppProcess[] {
    return [...this.processes.values()].filter(({ hasExited }) => !hasExited);
  }

  /** The longest that a process' event loop stood still since this was asked last; `undefined` where it ended. */
  private stoodStill(pid: number): Promise<number | undefined> {
    return new Promise((resolve) => {
      const asked = request({ socketPath: join(this.monitors, String(pid)), timeout: silenceMs }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => resolve(Number(Buffer.concat(chunks).toString())));
      });
      asked.once('timeout', () => asked.destroy());
      asked.once('error', () => resolve(undefined));
      asked.end();
    });
  }
}

/** The container that the chart makes of an app with its own values, the heap as its `podcast-sync.heap` computes it. */
function containerOf(app: App): Container {
  const values = parse(readFileSync(join(repository, 'k8s', 'chart', 'values.yaml'), 'utf8')) as {
    apps: Partial<Record<App, { resources: { limits: { memory: string } } }>>;
  };
  const mebibytes = Number(/^(\d+)Mi$/.exec(values.apps[app]?.resources.limits.memory ?? '')?.[1]);
  if (!mebibytes) throw new Error(`${app}: no limit of memory in MiB in k8s/chart/values.yaml`);
  return { limitBytes: mebibytes * 2 ** 20, nodeOptions: `--max-old-space-size=${Math.floor((mebibytes * 3) / 4)}` };
}

/** How long a process had a processor since it began, in milliseconds; 0 where it ended. */
function busyMs(pid: number): number {
  try {
    // `pid (name) state ...`, where the name may hold anything; the two times are in hundredths of a second.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}

/** Bytes that a process has (`VmRSS`) or had at most (`VmHWM`); `undefined` where it ended. */
function memory(pid: number, field: 'VmRSS' | 'VmHWM'): number | undefined {
  try {
    const [, kilobytes] = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    return undefined;
  }
}
