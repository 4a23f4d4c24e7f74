import type { IncomingMessage } from 'node:http';
import { answerBrokenHttp } from './errors.js';
import type { RequestEnd } from './request-hooks.js';
import type { PendingBody } from './user-limiter.js';

/** Time in ms for which a body can arrive at any rate, and its minimum rate after that. */
const [graceMs, bytesPerMs] = [5_000, 4];
/** Interval of the checks of an arriving body, in milliseconds. */
const checkMs = 1_000;

/**
 * Returns true if a body arrives too slowly: at less than 4 kB/s after a grace period of 5 s.
 *
 * @param bytes bytes that arrived in `elapsedMs` milliseconds.
 */
export function isTooSlow(elapsedMs: number, bytes: number): boolean {
  return elapsedMs > graceMs + bytes / bytesPerMs;
}

/**
 * Watches the body of an unauthenticated client while it arrives, and ends the connection if the
 * body is too slow ({@link isTooSlow}). It reads only the byte counter of the connection, because
 * some listeners of Node read the body themselves.
 */
export class ArrivingBody implements PendingBody {
  private readonly startedAt = performance.now();
  private readonly initialBytesRead: number;
  private lastBytesRead: number;
  private bytesReadChangedAt = this.startedAt;

  private constructor(
    private readonly raw: IncomingMessage,
    end: RequestEnd,
  ) {
    this.initialBytesRead = raw.socket.bytesRead;
    this.lastBytesRead = this.initialBytesRead;
    const timer = setInterval(() => this.dropIfTooSlow(), checkMs).unref();
    const stop = () => clearInterval(timer);
    raw.once('end', stop);
    end.onReached(stop);
  }

  /** Watches the body of a request; `undefined` if there is none or the request has ended. */
  static watch(raw: IncomingMessage, end: RequestEnd | undefined): ArrivingBody | undefined {
    const { 'content-length': contentLength = '0', 'transfer-encoding': coding } = raw.headers;
    const hasBody = coding !== undefined || Number(contentLength) > 0;
    const canHaveBody = raw.method !== 'GET' && raw.method !== 'HEAD';
    return end?.reached === false && hasBody && canHaveBody
      ? new ArrivingBody(raw, end)
      : undefined;
  }

  get lastByteAt(): number {
    const { bytesRead } = this.raw.socket;
    if (bytesRead !== this.lastBytesRead)
      [this.lastBytesRead, this.bytesReadChangedAt] = [bytesRead, performance.now()];
    return this.bytesReadChangedAt;
  }

  onArrived(listener: () => void): void {
    this.raw.once('end', listener);
  }

  drop(): void {
    const { socket } = this.raw;
    const error = new Error('request body timed out');
    answerBrokenHttp(Object.assign(error, { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
    socket.destroySoon();
  }

  private dropIfTooSlow(): void {
    // Reading `lastByteAt` updates `lastBytesRead`.
    void this.lastByteAt;
    if (isTooSlow(performance.now() - this.startedAt, this.lastBytesRead - this.initialBytesRead))
      this.drop();
  }
}
