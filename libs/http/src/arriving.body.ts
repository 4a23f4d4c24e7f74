import type { IncomingMessage } from 'node:http';
import { answerBrokenHttp } from './errors.js';
import type { RequestEnd } from './request.hooks.js';
import type { PendingBody } from './user.limiter.js';

/** Grace period of a body in milliseconds, and minimum rate after it in bytes per millisecond. */
const [graceMs, bytesPerMs] = [5_000, 4];
/** Interval of the checks in milliseconds. */
const checkMs = 1_000;

/**
 * Returns true if a body arrives too slowly: at less than 4 kB/s after a grace period of 5 s.
 *
 * @param bytes received in `elapsedMs` milliseconds.
 */
export function isTooSlow(elapsedMs: number, bytes: number): boolean {
  return elapsedMs > graceMs + bytes / bytesPerMs;
}

/**
 * Watches the body of an unauthenticated client while it arrives, and ends the connection if the
 * body is too slow ({@link isTooSlow}). It reads only the byte counter of the connection, because
 * some Node listeners read the body themselves.
 */
export class ArrivingBody implements PendingBody {
  private readonly began = performance.now();
  private readonly before: number;
  private seen: number;
  private changed = this.began;

  private constructor(
    private readonly raw: IncomingMessage,
    end: RequestEnd,
  ) {
    this.before = raw.socket.bytesRead;
    this.seen = this.before;
    const timer = setInterval(() => this.check(), checkMs).unref();
    const stop = () => clearInterval(timer);
    raw.once('end', stop);
    end.onReached(stop);
  }

  /** Returns the body of a request; `undefined` if it announces no body or has ended. */
  static of(raw: IncomingMessage, end: RequestEnd | undefined): ArrivingBody | undefined {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = raw.headers;
    const hasBody = coding !== undefined || Number(length) > 0;
    const isRead = raw.method !== 'GET' && raw.method !== 'HEAD';
    return end?.reached === false && hasBody && isRead ? new ArrivingBody(raw, end) : undefined;
  }

  get lastByteAt(): number {
    const { bytesRead } = this.raw.socket;
    if (bytesRead !== this.seen) [this.seen, this.changed] = [bytesRead, performance.now()];
    return this.changed;
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

  private check(): void {
    // Updates `seen`.
    void this.lastByteAt;
    if (isTooSlow(performance.now() - this.began, this.seen - this.before)) this.drop();
  }
}
