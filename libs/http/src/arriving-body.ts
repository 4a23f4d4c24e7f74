import type { IncomingMessage } from 'node:http';
import { answerBrokenHttp } from './errors.js';
import type { RequestEnd } from './request-hooks.js';
import type { PendingBody } from './user-limiter.js';

/** Time in ms in which a body can arrive at any rate; then its minimum rate, in bytes per ms. */
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
  private readonly bytesBefore: number;
  private lastBytesRead: number;
  private changedAt = this.startedAt;

  private constructor(
    private readonly raw: IncomingMessage,
    end: RequestEnd,
  ) {
    this.bytesBefore = raw.socket.bytesRead;
    this.lastBytesRead = this.bytesBefore;
    const timer = setInterval(() => this.check(), checkMs).unref();
    const stop = () => clearInterval(timer);
    raw.once('end', stop);
    end.onReached(stop);
  }

  /** Watches the body of a request; `undefined` if there is none or the request has ended. */
  static watch(raw: IncomingMessage, end: RequestEnd | undefined): ArrivingBody | undefined {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = raw.headers;
    const hasBody = coding !== undefined || Number(length) > 0;
    const isRead = raw.method !== 'GET' && raw.method !== 'HEAD';
    return end?.reached === false && hasBody && isRead ? new ArrivingBody(raw, end) : undefined;
  }

  get lastByteAt(): number {
    const { bytesRead } = this.raw.socket;
    if (bytesRead !== this.lastBytesRead)
      [this.lastBytesRead, this.changedAt] = [bytesRead, performance.now()];
    return this.changedAt;
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
    // Reading `lastByteAt` updates `lastBytesRead`.
    void this.lastByteAt;
    if (isTooSlow(performance.now() - this.startedAt, this.lastBytesRead - this.bytesBefore))
      this.drop();
  }
}
