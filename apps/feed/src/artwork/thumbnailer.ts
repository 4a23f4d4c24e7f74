import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The path of the built program: next to this file, or in `dist` for tests, which run sources. */
const program = [
  './thumbnail.process.js',
  '../../../../dist/apps/feed/src/artwork/thumbnail.process.js',
]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync);

/** Time limits in milliseconds: for one picture, and for an idle process before it ends. */
const defaultLimits = { pictureMs: 10_000, idleMs: 3_000 };

/** Matches the first bytes of JPEG, PNG and WebP. Other bytes are not sent to the process. */
const picture = /^(?:\xff\xd8\xff|\x89PNG\r\n|RIFF....WEBP)/s;

/** Maximum size of a thumbnail in bytes. Usual thumbnails have about 10 kB. */
const maxBytes = 65_536;

/** The message that the process sends for a picture. */
interface Reply {
  readonly thumbnail?: Uint8Array;
}

/**
 * Makes thumbnails in a separate process. Invariants:
 * - The process gets one picture at a time, without credentials or files.
 * - If a picture takes too long or crashes the process, the process ends and the picture gets no
 *   thumbnail. The next picture gets a new process.
 */
export class Thumbnailer {
  private child: ChildProcess | undefined;
  private idle: NodeJS.Timeout | undefined;
  private last: Promise<unknown> = Promise.resolve();
  /** Resolves the wait for the current picture. */
  private settle: (reply: Reply | undefined) => void = () => undefined;

  constructor(private readonly limits: Partial<typeof defaultLimits> = {}) {}

  /** Returns a square WebP image, or `undefined` for bytes that are not a valid picture. */
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
    return thumbnail && thumbnail.length <= maxBytes ? thumbnail : undefined;
  }

  private start(): ChildProcess {
    if (program === undefined)
      throw new Error('thumbnail.process.js is not built: run npm run build');
    const child = fork(program, {
      env: {},
      // Replaces the options of this process, such as an inspector's port.
      execArgv: ['--max-old-space-size=64'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // Ignores a late event of a killed process: it is not about the current picture.
    const settle = (reply?: Reply) => this.child === child && this.settle(reply);
    child.on('message', settle);
    child.on('exit', () => settle());
    child.on('error', () => settle());
    // An idle child must not keep this process alive.
    child.unref();
    child.channel?.unref();
    return child;
  }
}
