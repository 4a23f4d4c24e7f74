import { connect } from 'node:net';

/** A request of bytes on its own connection. */
export interface RawRequest {
  readonly bytes: Buffer;
  /** True to close after sending: incomplete requests get no answer. */
  readonly mayEndEarly: boolean;
  /** True if the answer has no body, as to HEAD. */
  readonly head: boolean;
}

/** An answer; `undefined` if the server closed the connection without one. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const silenceLimitMs = 30_000;

/** Sends bytes and reads the first answer until the server closes. @throws Error on a timeout. */
export async function exchange(
  port: number,
  { bytes, mayEndEarly }: RawRequest,
): Promise<RawAnswer | undefined> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const received = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const settle = () => resolve(Buffer.concat(chunks));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', settle);
    // A server that has answered need not read the rest of what was sent.
    socket.on('error', settle);
    socket.setTimeout(silenceLimitMs, () => reject(new Error('no answer and no end')));
    if (mayEndEarly) socket.end(bytes);
    else socket.write(bytes);
  }).finally(() => socket.destroy());
  return received.length === 0 ? undefined : parsed(received);
}

function parsed(received: Buffer): RawAnswer {
  const end = received.indexOf('\r\n\r\n');
  const [line = '', ...fields] = received.subarray(0, end).toString('latin1').split('\r\n');
  const headers = new Map(
    fields.map((field): [string, string] => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
    }),
  );
  const rest = received.subarray(end + 4);
  const length = headers.get('content-length');
  const body = length === undefined ? unchunked(rest) : rest.subarray(0, Number(length));
  return { status: Number(line.split(' ')[1]), headers, body: body.toString() };
}

function unchunked(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.subarray(at, end).toString('latin1'), 16);
    if (!(size > 0)) break;
    chunks.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return Buffer.concat(chunks);
}
