import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SignIn } from './sign-in.js';

/** Time limit for the user to sign in, in milliseconds. */
const signInTimeLimit = 10 * 60_000;

/**
 * Signs in with the browser of this machine (RFC 8252), with a redirect to a port of 127.0.0.1.
 *
 * @param openUrl opens a URL in the browser, or shows the URL to the user.
 * @throws OAuthError if the user denied access.
 * @throws ApiError if a request to the server fails.
 * @throws Error after ten minutes without a redirect.
 */
export async function signInByLoopback(
  signIn: SignIn,
  openUrl: (url: string) => void,
): Promise<void> {
  const redirectPath = '/signed-in';
  const server = createServer();
  let timer: ReturnType<typeof setTimeout> | undefined;
  server.listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const redirectUrl = new Promise<string>((resolve, reject) => {
      server.on('request', (request, response) => {
        const isRedirect = request.url?.startsWith(`${redirectPath}?`) === true;
        response.writeHead(isRedirect ? 200 : 404, {
          'content-type': 'text/plain',
          connection: 'close',
        });
        response.end(
          isRedirect ? 'Return to the app. You can close this window.\n' : 'Not found.\n',
        );
        if (isRedirect) resolve(`${origin}${request.url}`);
      });
      timer = setTimeout(
        () => reject(new Error('The browser did not return within 10 minutes: sign in again')),
        signInTimeLimit,
      ).unref();
    });
    // Handles a rejection before the `await` below. An unhandled rejection would end the process.
    redirectUrl.catch(() => {});
    openUrl(await signIn.begin(`${origin}${redirectPath}`));
    await signIn.finish(await redirectUrl);
  } finally {
    clearTimeout(timer);
    server.close();
    server.closeIdleConnections();
  }
}
