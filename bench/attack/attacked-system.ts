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

/** Measurements of a process. */
export interface ProcessReport {
  readonly app: App;
  /** Longest event loop delay in milliseconds; `undefined` if the process ended. */
  readonly stoodStillMs: number | undefined;
  /** CPU time in milliseconds. Unlike elapsed time, it does not depend on other load. */
  readonly busyMs: number;
  /** Peak memory and the container's limit, in bytes. */
  readonly peakBytes: number | undefined;
  readonly limitBytes: number;
}

interface Container {
  readonly limitBytes: number;
  readonly nodeOptions: string;
}

/** Time limit of a monitor's answer, and longest answer of a healthy process, in milliseconds. */
const [silenceMs, calmMs] = [10_000, 1_000];

/**
 * Runs one process of each app with the heap of its container, and measures them. Needs Linux,
 * which records the peak memory of processes.
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
    const system = new AttackedSystem(
      await AppStack.open({ environment: { AUTH_APP_PASSWORDS: 'on' } }),
      monitors,
    );
    await system.complete();
    return system;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return Number(this.processes.get('gateway')?.facts['port']);
  }

  device(): Promise<Device> {
    return this.stack.device(this.processes.get('gateway') as AppProcess);
  }

  get gpodderPort(): number {
    return Number(this.processes.get('gpodder')?.facts['port']);
  }

  async gpodderClient(): Promise<Device> {
    const { name, password } = await this.stack.appPassword();
    return new Device(`http://127.0.0.1:${this.gpodderPort}`, password, name);
  }

  /** Restarts processes that ended or grew large. Waits until all are healthy. */
  async complete(): Promise<void> {
    await eventually(
      async () => {
        for (const app of apps) await this.renew(app);
        const device = await this.device();
        for (const [path, status] of Object.entries({
          '/subscriptions': 200,
          '/episodes': 200,
          '/deletions/1': 404,
        })) {
          const answer = await device.send('GET', path);
          if (answer.status !== status || answer.tookMs > calmMs)
            throw new Error(`${path}: ${answer.status}`);
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
    const monitor = join(repository, 'bench', 'attack', 'process-monitor.mjs');
    const environment = {
      NODE_OPTIONS: `${nodeOptions} --import=${monitor}`,
      MONITORS: this.monitors,
    };
    const [process] = await this.stack.start([app], environment);
    this.processes.set(app, process as AppProcess);
  }

  /** Starts a measurement. */
  async watch(): Promise<void> {
    for (const { pid } of this.running()) {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
      await this.stoodStill(pid);
      this.busyBefore.set(pid, busyMs(pid));
    }
  }

  /** Returns the measurements of each process since {@link watch}. */
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

  /** Returns the longest event loop delay since the last call; `undefined` if the process ended. */
  private stoodStill(pid: number): Promise<number | undefined> {
    return new Promise((resolve) => {
      const asked = request(
        { socketPath: join(this.monitors, String(pid)), timeout: silenceMs },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('end', () => resolve(Number(Buffer.concat(chunks).toString())));
        },
      );
      asked.once('timeout', () => asked.destroy());
      asked.once('error', () => resolve(undefined));
      asked.end();
    });
  }
}

/** Returns the container from the chart's values, with the heap as in `podcast-sync.heap`. */
function containerOf(app: App): Container {
  const values = parse(readFileSync(join(repository, 'k8s', 'chart', 'values.yaml'), 'utf8')) as {
    apps: Partial<Record<App, { resources: { limits: { memory: string } } }>>;
  };
  const mebibytes = Number(/^(\d+)Mi$/.exec(values.apps[app]?.resources.limits.memory ?? '')?.[1]);
  if (!mebibytes) throw new Error(`${app}: no limit of memory in MiB in k8s/chart/values.yaml`);
  return {
    limitBytes: mebibytes * 2 ** 20,
    nodeOptions: `--max-old-space-size=${Math.floor((mebibytes * 3) / 4)}`,
  };
}

/** Returns the CPU time of a process since its start, in milliseconds; 0 if it ended. */
function busyMs(pid: number): number {
  try {
    // `pid (name) state ...`; the name can have any characters. Both times are in units of 10 ms.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}

/** Returns current (`VmRSS`) or peak (`VmHWM`) memory in bytes; `undefined` after its end. */
function memory(pid: number, field: 'VmRSS' | 'VmHWM'): number | undefined {
  try {
    const [, kilobytes] =
      new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    return undefined;
  }
}
