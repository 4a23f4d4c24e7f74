import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The built program: next to this file, or for tests, which run the sources, in `dist`. */
const program = [
  './thumbnail.process.js',
  '../../../../dist/apps/feed/src/artwork/thumbnail.process.js',
]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync);

/** Limits of the process in milliseconds: for one picture, and without one before it ends. */
const defaultLimits = { pictureMs: 10_000, idleMs: 3_000 };

/** JPEG, PNG or WebP, by its first bytes. Loaders of other formats are never called. */
const picture = /^(?:\xff\xd8\xff|\x89PNG\r\n|RIFF....WEBP)/s;

/** Maximum size of a thumbnail in bytes. It has about 10 kB. */
const mostBytes = 65_536;

/** The message of the process. */
interface Reply {
  readonly thumbnail?: Uint8Array;
}

/**
 * Makes thumbnails in a process of their own. Invariants:
 * - The process gets one picture at a time, without credentials or files.
 * - A picture that takes too long, or breaks the process, ends the process and has no thumbnail.
 *   The next one gets a new process.
 */
export class Thumbnailer {
  private child: ChildProcess | undefined;
  private idle: NodeJS.Timeout | undefined;
  private last: Promise<unknown> = Promise.resolve();
  /** Ends the run of the current picture. */
  private settle: (reply: Reply | undefined) => void = () => undefined;

  constructor(private readonly limits: Partial<typeof defaultLimits> = {}) {}

  /** Returns a square WebP image, or `undefined` for anything but a sound picture. */
  thumbnailOf(bytes: Uint8Array): Promise<Uint8Array | undefined> {
    const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 12));
    if (!picture.test(start.toString('latin1'))) return Promise.resolve(undefined);
    const thumbnail = this.last.then(() => this.run(bytes));
    this.last = thumbnail.catch(() => undefined);
    return thumbnail;
  }

  /** Ends the process. Its current picture has no thumbnail. */
  close(): void {
    clearTimeout(this.idle);
    this.child?.kill('SIGKILL');
    this.child = undefined;
    this.settle(undefined);
  }

  private async run(bytes: Uint8Array): Promise<Uint8Array | undefined> {
    const { pictureMs, idleMs } = { ...defaultLimits, ...this.limits };
    clearTimeout(this.idle);
    const child = (this.child ??= this.start());
    const late = setTimeout(() => child.kill('SIGKILL'), pictureMs);
    const reply = await new Promise<Reply | undefined>((resolve) => {
      this.settle = resolve;
      child.send(bytes, (error) => error && resolve(undefined));
    });
    clearTimeout(late);
    if (reply) this.idle = setTimeout(() => this.close(), idleMs).unref();
    else this.close();
    const thumbnail = reply?.thumbnail;
    return thumbnail && thumbnail.length <= mostBytes ? thumbnail : undefined;
  }

  private start(): ChildProcess {
    if (program === undefined) throw new Error('thumbnail.process.js is not built');
    const child = fork(program, {
      env: {},
      // Variables and inspectors of this process are not for the child.
      execArgv: ['--max-old-space-size=64'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // A late event of a process that was killed is not about the current picture.
    const settle = (reply?: Reply) => this.child === child && this.settle(reply);
    child.on('message', settle);
    child.on('exit', () => settle());
    child.on('error', () => settle());
    // A process that waits must not keep this one alive.
    child.unref();
    child.channel?.unref();
    return child;
  }
}
