import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLine } from '#embedded';

/** How a system is to be started. */
export interface LaunchOptions {
  /** The directory that it keeps everything in. */
  readonly data: string;
  readonly replicas?: number;
  /** Default: any free one, also of the account app and of gpodder. */
  readonly port?: number;
  /** As another user, which root may ask for. */
  readonly account?: { readonly uid: number; readonly gid: number };
  /** Variables beside the ones of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Where the built repository is. Default: this one. */
  readonly root?: string;
}

/** This repository. */
export const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** Below what a test may take, which would not show what it has said. */
const startLimitMs = 100_000;

/**
 * The whole built system as one person starts it, as a process of its own. It ends with the process that started it,
 * however that ends.
 */
export class LaunchedSystem {
  /** Where it is, once it is ready. */
  baseUrl = '';
  /** Where the first account is made; empty where there is one. */
  firstLink = '';
  /** All that it has said. */
  output = '';
  /** Settles with its exit code, or null for a signal. */
  readonly ended: Promise<number | null>;

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.ended = new Promise((resolve) => child.once('close', resolve));
  }

  /** Starts it without waiting for anything. */
  static launch({
    data,
    replicas = 1,
    port = 0,
    account,
    environment,
    root = repository,
  }: LaunchOptions): LaunchedSystem {
    const programs = join(root, 'dist', 'programs');
    if (!existsSync(programs)) throw new Error('The tests run the built apps: "npm run build" first.');
    // An earlier release has a program of its own for it, and not all of these options.
    const earlier = join(programs, 'standalone.js');
    const main = existsSync(earlier) ? earlier : join(programs, 'podcast-sync.js');
    const args = ['--replicas', String(replicas), '--port', String(port), '--data', data];
    if (main !== earlier) args.unshift('start');
    shareFetchedPrograms(data, account);
    return new LaunchedSystem(
      fork(main, args, {
        ...account,
        cwd: root,
        env: { ...process.env, ...environment },
        execArgv: [],
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      }),
    );
  }

  /** Starts it and waits until it is ready. */
  static async start(options: LaunchOptions): Promise<LaunchedSystem> {
    const system = LaunchedSystem.launch(options);
    const ready = once(system.child, 'message', { signal: AbortSignal.timeout(startLimitMs) }) as Promise<
      [{ facts: { baseUrl: string; firstLink?: string } }]
    >;
    const since = performance.now();
    const message = await Promise.race([ready, system.ended.then((code) => `ended with ${code}`)]).catch(
      () => 'was not ready',
    );
    if (typeof message === 'string') {
      const seconds = ((performance.now() - since) / 1000).toFixed(1);
      await system.stop();
      throw new Error(`The system did not start: it ${message} after ${seconds} s.\n${system.output}`);
    }
    const { baseUrl, firstLink = '' } = message[0].facts;
    Object.assign(system, { baseUrl, firstLink });
    return system;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Tells it, and it alone, something. */
  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Stops it in order. */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.ended;
  }

  /** Every process that it consists of at this moment. */
  processes(): number[] {
    const parents = parentsOfAll();
    const found = [this.pid];
    for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
    return found;
  }
}

/** Whether a process runs; one that has ended counts as gone even while nobody has asked for its exit code. */
export function isRunning(pid: number): boolean {
  return parentsOfAll().has(pid);
}

/** The processes of this machine that have a text in their command lines. */
export function processesWith(text: string): number[] {
  return [...parentsOfAll().keys()].filter((pid) => pid !== process.pid && commandLine(pid).includes(text));
}

/**
 * Prepares the directory of a system: a Redis that had to be downloaded is there for all that the tests start, and the
 * download happens once.
 */
export function shareFetchedPrograms(data: string, account?: LaunchOptions['account']): void {
  const shared = join(repository, '.data', 'programs');
  for (const folder of [shared, data]) mkdirSync(folder, { recursive: true });
  if (account) chownSync(data, account.uid, account.gid);
  if (!existsSync(join(data, 'programs'))) symlinkSync(shared, join(data, 'programs'));
}

/** The parent of each process of this machine. */
function parentsOfAll(): Map<number, number> {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    return new Map(stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number) as [number, number]));
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return new Map(
    pids.flatMap((pid): [number, number][] => {
      try {
        // `pid (name) state parent ...`, where the name may hold anything.
        const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        return state === 'Z' ? [] : [[Number(pid), Number(parent)]];
      } catch {
        return [];
      }
    }),
  );
}
