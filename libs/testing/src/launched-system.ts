import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLine } from '#embedded';

/** Options of a {@link LaunchedSystem}. */
export interface LaunchOptions {
  /** Folder of the data of the system. */
  readonly data: string;
  readonly replicas?: number;
  /** Port of the edge, which serves all HTTP apps. Default: any free port. */
  readonly port?: number;
  /** User of the operating system that runs the system; only if root runs the tests. */
  readonly account?: { readonly uid: number; readonly gid: number };
  /** Variables in addition to those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The folder of the built repository. Default: this one. */
  readonly root?: string;
}

/** The folder of this repository. */
export const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** Maximum time in ms until the system is ready. A test allows more time to see the output. */
const startLimitMs = 100_000;

/** The whole built system, started by one process that ends with its parent. */
export class LaunchedSystem {
  /** URL of the edge for clients; empty until the system is ready. */
  baseUrl = '';
  /** Link to create the first account; empty if an account exists. */
  firstLink = '';
  /** Everything that the process has written to stdout and stderr. */
  output = '';
  /** Resolves to the exit code when the process has ended; to null after a signal. */
  readonly ended: Promise<number | null>;

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.ended = new Promise((resolve) => child.once('close', resolve));
  }

  /** Starts the system, and does not wait until it is ready. */
  static launch({
    data,
    replicas = 1,
    port = 0,
    account,
    environment,
    root = repository,
  }: LaunchOptions): LaunchedSystem {
    const programs = join(root, 'dist', 'programs');
    if (!existsSync(programs))
      throw new Error('The tests run the built apps: "npm run build" first.');
    // Earlier releases have a separate program for `start`.
    const earlierProgram = join(programs, 'standalone.js');
    const mainProgram = existsSync(earlierProgram)
      ? earlierProgram
      : join(programs, 'podcast-sync.js');
    const args = ['--replicas', String(replicas), '--port', String(port), '--data', data];
    if (mainProgram !== earlierProgram) args.unshift('start');
    shareFetchedPrograms(data, account);
    return new LaunchedSystem(
      fork(mainProgram, args, {
        ...account,
        cwd: root,
        env: { ...process.env, ...environment },
        execArgv: [],
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      }),
    );
  }

  /** Starts the system and waits until it is ready. */
  static async start(options: LaunchOptions): Promise<LaunchedSystem> {
    const system = LaunchedSystem.launch(options);
    const ready = once(system.child, 'message', {
      signal: AbortSignal.timeout(startLimitMs),
    }) as Promise<[{ facts: { baseUrl: string; firstLink?: string } }]>;
    const startMs = performance.now();
    const message = await Promise.race([
      ready,
      system.ended.then((code) => `ended with ${code}`),
    ]).catch(() => 'was not ready');
    if (typeof message === 'string') {
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
      await system.stop();
      throw new Error(
        `The system did not start: it ${message} after ${seconds} s.\n${system.output}`,
      );
    }
    const { baseUrl, firstLink = '' } = message[0].facts;
    Object.assign(system, { baseUrl, firstLink });
    return system;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Sends a signal to the main process only. */
  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.ended;
  }

  /** Returns the pids of all running processes of the system. */
  processes(): number[] {
    const parents = readParentsByPid();
    const pids = [this.pid];
    for (const pid of pids)
      for (const [child, parent] of parents) if (parent === pid) pids.push(child);
    return pids;
  }
}

/** Returns true if a process is running; false for a zombie. */
export function isRunning(pid: number): boolean {
  return readParentsByPid().has(pid);
}

/** Returns the pids of all processes of this machine whose command line contains a text. */
export function processesWith(text: string): number[] {
  return [...readParentsByPid().keys()].filter(
    (pid) => pid !== process.pid && commandLine(pid).includes(text),
  );
}

/** Links a data folder to the shared programs, so that tests download Redis only once. */
export function shareFetchedPrograms(data: string, account?: LaunchOptions['account']): void {
  const sharedPrograms = join(repository, '.data', 'programs');
  for (const folder of [sharedPrograms, data]) mkdirSync(folder, { recursive: true });
  if (account) chownSync(data, account.uid, account.gid);
  if (!existsSync(join(data, 'programs'))) symlinkSync(sharedPrograms, join(data, 'programs'));
}

/** Returns the pid of the parent of each running process of this machine. */
function readParentsByPid(): Map<number, number> {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    return new Map(
      stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number) as [number, number]),
    );
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return new Map(
    pids.flatMap((pid): [number, number][] => {
      try {
        // Parses `pid (name) state parent ...`, where the name can contain any characters.
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
