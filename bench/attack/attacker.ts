import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Device } from '#testing';

/** Parts of a request; a header is a whole line. */
export interface RequestParts {
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly string[];
  /** Sent as JSON unless the headers name another type. */
  readonly body?: string | Buffer;
  /** Default: the attacker's own; `null` for none. */
  readonly token?: string | null;
  /** True if the connection stays open after the response. */
  readonly keepAlive?: boolean;
}

/** Time limit of an attack, in milliseconds. */
const attackLimitMs = 6_000;

/**
 * A user who sends arbitrary requests on separate connections for a limited time. Counts the
 * outcomes: a status, `closed` for a connection that ended without one, and `cut` for one at the
 * time limit.
 */
export class Attacker {
  readonly statuses: Record<string, number> = {};
  private readonly open = new Set<Socket>();
  private readonly ending = new AbortController();

  constructor(
    private readonly port: number,
    readonly device: Device,
  ) {}

  /** Runs an attack until its end or the time limit. */
  async attack(run: () => Promise<unknown>): Promise<void> {
    const limit = setTimeout(() => this.end(), attackLimitMs);
    await run();
    clearTimeout(limit);
    this.end();
  }

  get isOver(): boolean {
    return this.ending.signal.aborted;
  }

  bytes({
    method = 'GET',
    target,
    headers = [],
    body,
    token,
    keepAlive = false,
  }: RequestParts): Buffer {
    const bearer = token === undefined ? this.device.token : token;
    const lines = [`${method} ${target} HTTP/1.1`, 'Host: a.example', ...headers];
    if (!keepAlive) lines.push('Connection: close');
    if (bearer !== null) lines.push(`Authorization: Bearer ${bearer}`);
    if (body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
    if (body !== undefined && !/^content-type:/im.test(headers.join('\n')))
      lines.push('Content-Type: application/json');
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body ?? '')]);
  }

  /** Sends bytes on a new connection. Resolves to the first status after the connection's end. */
  send(bytes: Buffer): Promise<string> {
    return this.exchange((socket) => socket.write(bytes), true);
  }

  /** Sends requests with limited concurrency, until all are sent or the time is over. */
  async flood(count: number, atOnce: number, request: (n: number) => Buffer): Promise<void> {
    let sent = 0;
    const next = async (): Promise<void> => {
      while (sent < count && !this.isOver) await this.send(request(sent++));
    };
    await Promise.all(Array.from({ length: Math.min(count, atOnce) }, next));
  }

  /** Opens connections, sends bytes on each, and reads no responses for `ms`. */
  async hold(count: number, bytes: (n: number) => Buffer, ms: number): Promise<void> {
    const all = Array.from({ length: count }, (_, n) =>
      this.exchange((socket) => socket.write(bytes(n)), false),
    );
    await this.pause(ms);
    this.end();
    await Promise.all(all);
  }

  /** Opens connections, then sends bytes on all at the same time. Reads no responses for `ms`. */
  async burst(count: number, bytes: Buffer, ms: number): Promise<void> {
    const sockets: Socket[] = [];
    const all = Array.from({ length: count }, () =>
      this.exchange((socket) => sockets.push(socket), false),
    );
    await this.pause(ms / 2);
    for (const socket of sockets) socket.write(bytes);
    await this.pause(ms / 2);
    this.end();
    await Promise.all(all);
  }

  /** Opens connections that send one byte every 50 ms, for `ms`. */
  async trickle(count: number, start: Buffer, byte: string, ms: number): Promise<void> {
    const all = Array.from({ length: count }, () =>
      this.exchange((socket) => {
        socket.write(start);
        const timer = setInterval(() => socket.write(byte), 50);
        socket.once('close', () => clearInterval(timer));
      }, true),
    );
    await this.pause(ms);
    this.end();
    await Promise.all(all);
  }

  /** Waits, at most until the attack's time limit. */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.ending.signal }).catch(() => {});
  }

  private end(): void {
    this.ending.abort();
    for (const socket of this.open) socket.destroy();
  }

  private exchange(begin: (socket: Socket) => void, reads: boolean): Promise<string> {
    const socket = connect({ port: this.port, host: '127.0.0.1', allowHalfOpen: true });
    this.open.add(socket);
    return new Promise((resolve) => {
      let status: string | undefined;
      socket.once('connect', () => begin(socket));
      if (reads) socket.on('data', (chunk: Buffer) => (status ??= chunk.toString('latin1', 9, 12)));
      socket.once('end', () => socket.destroy());
      socket.on('error', () => socket.destroy());
      socket.once('close', () => {
        this.open.delete(socket);
        const outcome = status ?? (this.isOver ? 'cut' : 'closed');
        this.statuses[outcome] = (this.statuses[outcome] ?? 0) + 1;
        resolve(outcome);
      });
    });
  }
}
