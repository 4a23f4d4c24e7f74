import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Path of the compiled thumbnail-process.js: next to this file, or in `dist` if tests run the
 * TypeScript sources. Undefined if neither file exists.
 */
const programPath = [
  './thumbnail-process.js',
  '../../../../dist/apps/feed/src/artwork/thumbnail-process.js',
]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync);

/** Limits in milliseconds after which the child process is killed: per picture, and while idle. */
const defaultLimits = { pictureMs: 10_000, idleMs: 3_000 };

/** Matches the first bytes of JPEG, PNG and WebP. Other files are not sent to the child process. */
const pictureStart = /^(?:\xff\xd8\xff|\x89PNG\r\n|RIFF....WEBP)/s;

/** Maximum size of a thumbnail in bytes. A larger one is dropped. Most have about 10 kB. */
const maxThumbnailBytes = 65_536;

/** The message that the child process sends for a picture. */
interface Reply {
  readonly thumbnail?: Uint8Array;
}

/**
 * Makes thumbnails in a separate process. Invariants:
 * - The process gets one picture at a time. Its environment is empty, so it has no credentials.
 * - Only WebAssembly keeps the decoder from opening files; the process itself is allowed to.
 * - If a picture takes too long or crashes the process, the process ends and the picture gets no
 *   thumbnail. The next picture gets a new process.
 */
export class Thumbnailer {
  private child: ChildProcess | undefined;
  private idleTimer: NodeJS.Timeout | undefined;
  /** Resolves when the work on all earlier pictures has ended. */
  private earlierPicturesEnd: Promise<unknown> = Promise.resolve();
  /**
   * Passes the reply about the current picture to the function that waits for it; `undefined` if
   * the child process ended without a reply.
   */
  private resolveReply: (reply: Reply | undefined) => void = () => undefined;

  constructor(private readonly limits: Partial<typeof defaultLimits> = {}) {}

  /**
   * Returns a WebP image of 256 x 256 pixels, or `undefined` for a picture that is invalid, too
   * large or too slow to decode.
   */
  createThumbnail(picture: Uint8Array): Promise<Uint8Array | undefined> {
    const firstBytes = Buffer.from(
      picture.buffer,
      picture.byteOffset,
      Math.min(picture.length, 12),
    );
    if (!pictureStart.test(firstBytes.toString('latin1'))) return Promise.resolve(undefined);
    const thumbnail = this.earlierPicturesEnd.then(() => this.requestThumbnail(picture));
    this.earlierPicturesEnd = thumbnail.catch(() => undefined);
    return thumbnail;
  }

  /** Ends the child process. Its current picture gets no thumbnail. */
  close(): void {
    clearTimeout(this.idleTimer);
    this.child?.kill('SIGKILL');
    this.child = undefined;
    this.resolveReply(undefined);
  }

  private async requestThumbnail(picture: Uint8Array): Promise<Uint8Array | undefined> {
    const { pictureMs, idleMs } = { ...defaultLimits, ...this.limits };
    clearTimeout(this.idleTimer);
    const child = (this.child ??= this.startProcess());
    const killTimer = setTimeout(() => child.kill('SIGKILL'), pictureMs);
    const reply = await new Promise<Reply | undefined>((resolve) => {
      this.resolveReply = resolve;
      child.send(picture, (error) => error && resolve(undefined));
    });
    clearTimeout(killTimer);
    if (reply) this.idleTimer = setTimeout(() => this.close(), idleMs).unref();
    else this.close();
    const thumbnail = reply?.thumbnail;
    return thumbnail && thumbnail.length <= maxThumbnailBytes ? thumbnail : undefined;
  }

  private startProcess(): ChildProcess {
    if (programPath === undefined)
      throw new Error('thumbnail-process.js is not built: run npm run build');
    const child = fork(programPath, {
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
