import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Path of the built child program: next to this file, or in `dist` for tests of the sources. */
const program = [
  './thumbnail-process.js',
  '../../../../dist/apps/feed/src/artwork/thumbnail-process.js',
]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync);

/** Time limits in milliseconds: for one picture, and until an idle child process is ended. */
const defaultLimits = { pictureMs: 10_000, idleMs: 3_000 };

/** Matches the first bytes of JPEG, PNG and WebP. Other files are not sent to the child process. */
const pictureStart = /^(?:\xff\xd8\xff|\x89PNG\r\n|RIFF....WEBP)/s;

/** Maximum size of a thumbnail in bytes. Usual thumbnails have about 10 kB. */
const maxThumbnailBytes = 65_536;

/** The message that the child process sends for a picture. */
interface Reply {
  readonly thumbnail?: Uint8Array;
}

/**
 * Makes thumbnails in a separate process. Invariants:
 * - The process gets one picture at a time, and no credentials: its environment is empty. Nothing
 *   prevents it from opening files except that it decodes in WebAssembly.
 * - If a picture takes too long or crashes the process, the process ends and the picture gets no
 *   thumbnail. The next picture gets a new process.
 */
export class Thumbnailer {
  private child: ChildProcess | undefined;
  private idleTimer: NodeJS.Timeout | undefined;
  private lastThumbnail: Promise<unknown> = Promise.resolve();
  /** Resolves the promise that waits for the reply about the current picture. */
  private resolveReply: (reply: Reply | undefined) => void = () => undefined;

  constructor(private readonly limits: Partial<typeof defaultLimits> = {}) {}

  /** Returns a square WebP image, or `undefined` for bytes that are not a valid picture. */
  createThumbnail(bytes: Uint8Array): Promise<Uint8Array | undefined> {
    const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 12));
    if (!pictureStart.test(start.toString('latin1'))) return Promise.resolve(undefined);
    const thumbnail = this.lastThumbnail.then(() => this.requestThumbnail(bytes));
    this.lastThumbnail = thumbnail.catch(() => undefined);
    return thumbnail;
  }

  /** Ends the child process. Its current picture gets no thumbnail. */
  close(): void {
    clearTimeout(this.idleTimer);
    this.child?.kill('SIGKILL');
    this.child = undefined;
    this.resolveReply(undefined);
  }

  private async requestThumbnail(bytes: Uint8Array): Promise<Uint8Array | undefined> {
    const { pictureMs, idleMs } = { ...defaultLimits, ...this.limits };
    clearTimeout(this.idleTimer);
    const child = (this.child ??= this.startProcess());
    const late = setTimeout(() => child.kill('SIGKILL'), pictureMs);
    const reply = await new Promise<Reply | undefined>((resolve) => {
      this.resolveReply = resolve;
      child.send(bytes, (error) => error && resolve(undefined));
    });
    clearTimeout(late);
    if (reply) this.idleTimer = setTimeout(() => this.close(), idleMs).unref();
    else this.close();
    const thumbnail = reply?.thumbnail;
    return thumbnail && thumbnail.length <= maxThumbnailBytes ? thumbnail : undefined;
  }

  private startProcess(): ChildProcess {
    if (program === undefined)
      throw new Error('thumbnail-process.js is not built: run npm run build');
    const child = fork(program, {
      env: {},
      // By default, the child would get the options of this process, such as the inspector's port.
      execArgv: ['--max-old-space-size=64'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // A late event of a killed process is ignored, because it is not about the current picture.
    const onReply = (reply?: Reply) => this.child === child && this.resolveReply(reply);
    child.on('message', onReply);
    child.on('exit', () => onReply());
    child.on('error', () => onReply());
    // An idle child must not keep this process alive.
    child.unref();
    child.channel?.unref();
    return child;
  }
}
