import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SignIn } from './sign.in.js';

/** Time limit for the person to sign in, in milliseconds. */
const patience = 10 * 60_000;

/**
 * Signs in with the browser of this machine (RFC 8252), with a redirect to a port of 127.0.0.1.
 *
 * @param open opens a URL in the browser, or shows it.
 * @throws OAuthError if the person denied access.
 * @throws ApiError
 */
export async function signInByLoopback(signIn: SignIn, open: (url: string) => void): Promise<void> {
  const path = '/signed-in';
  const server = createServer();
  server.listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answered = new Promise<string>((resolve, reject) => {
      server.on('request', (request, response) => {
        const isAnswer = request.url?.startsWith(`${path}?`) === true;
        response.writeHead(isAnswer ? 200 : 404, {
          'content-type': 'text/plain',
          connection: 'close',
        });
        response.end(isAnswer ? 'You may close this window now.\n' : 'Nothing here.\n');
        if (isAnswer) resolve(`${base}${request.url}`);
      });
      setTimeout(() => reject(new Error('Nobody came back in time')), patience).unref();
    });
    open(await signIn.begin(`${base}${path}`));
    await signIn.finish(await answered);
  } finally {
    server.close();
    server.closeIdleConnections();
  }
}
