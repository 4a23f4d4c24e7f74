import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/** A client's request. `Host`, `Connection` and the length of the body are added. */
export interface ClientRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The answer to a client. */
export interface ClientAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The value of `sessionid` if the answer sets it; empty if it expires it. */
  readonly session?: string | undefined;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true });

/** The timeout of Kasts and AntennaPod between two bytes; other apps wait longer. */
const idleTimeoutMs = 30_000;

/** Sends a request without following redirects. @throws Error after a client's timeout. */
export async function exchange({
  method,
  url,
  headers = {},
  body,
}: ClientRequest): Promise<ClientAnswer> {
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  const sent = request(url, { method, agent, headers: { ...headers, ...length } });
  sent.setTimeout(idleTimeoutMs, () =>
    sent.destroy(new Error(`no byte for ${idleTimeoutMs / 1_000} s`)),
  );
  // An error during the answer also ends its body, which is read below.
  sent.on('error', () => {}).end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const bytes = await buffer(answer);
  const cookies = answer.headers['set-cookie'];
  return {
    status: answer.statusCode ?? 0,
    headers: { ...(answer.headers as Record<string, string>), 'set-cookie': cookies?.join('\n') },
    session: /^sessionid=([^;]*)/.exec(cookies?.[0] ?? '')?.[1],
    text: (answer.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString(
      'utf8',
    ),
  };
}

/** Returns the `Authorization` header of HTTP Basic (RFC 7617). */
export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}
