import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SignIn } from './sign-in.js';

/** Time limit for the user to sign in, in milliseconds. */
const signInTimeLimit = 10 * 60_000;

/**
 * Signs in with the browser of this machine (RFC 8252), with a redirect to a port of 127.0.0.1.
 *
 * @param open opens a URL in the browser, or shows it.
 * @throws OAuthError if the user denied access.
 * @throws ApiError
 * @throws Error after ten minutes without a redirect.
 */
export async function signInByLoopback(signIn: SignIn, open: (url: string) => void): Promise<void> {
  const path = '/signed-in';
  const server = createServer();
  let timer: ReturnType<typeof setTimeout> | undefined;
  server.listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const redirected = new Promise<string>((resolve, reject) => {
      server.on('request', (request, response) => {
        const isRedirect = request.url?.startsWith(`${path}?`) === true;
        response.writeHead(isRedirect ? 200 : 404, {
          'content-type': 'text/plain',
          connection: 'close',
        });
        response.end(
          isRedirect ? 'Return to the app. You can close this window.\n' : 'Not found.\n',
        );
        if (isRedirect) resolve(`${base}${request.url}`);
      });
      timer = setTimeout(
        () => reject(new Error('The browser did not return within 10 minutes: sign in again')),
        signInTimeLimit,
      ).unref();
    });
    // The promise can reject while nothing awaits it yet: an unhandled rejection ends the process.
    redirected.catch(() => {});
    open(await signIn.begin(`${base}${path}`));
    await signIn.finish(await redirected);
  } finally {
    clearTimeout(timer);
    server.close();
    server.closeIdleConnections();
  }
}
