import * as client from 'openid-client';
import { z } from 'zod';

/** Id of the OAuth client that every account app has (apps/account/src/issuer/clients.ts). */
const clientId = 'podcast-sync-cli';

/** The used field of the metadata of a protected resource (RFC 9728, 2). */
const resourceMetadata = z.object({
  authorization_servers: z.array(z.url({ protocol: /^https?$/ })).min(1),
});

/** A failed sign-in with a reason that the person can act on. */
class LoginError extends Error {}

export interface Login {
  readonly api: URL;
  readonly scope: string;
  say(line: string): void;
}

/**
 * Signs in by the device flow (RFC 8628): discovers the issuer from the API's URL, shows a link and
 * a code, and waits until the person allows it.
 *
 * @returns an access token.
 * @throws LoginError if the person denies access, the code expires, or the server has no accounts.
 */
export async function logIn({ api, scope, say }: Login): Promise<string> {
  const issuer = await issuerOf(api);
  const execute = issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [];
  const config = await client
    .discovery(issuer, clientId, undefined, client.None(), { algorithm: 'oauth2', execute })
    .catch((error: unknown) =>
      Promise.reject(
        new LoginError(`the issuer ${issuer.href} does not answer: ${reasonOf(error)}`),
      ),
    );
  const device = await client.initiateDeviceAuthorization(config, { scope });
  say(`Open  ${device.verification_uri_complete ?? device.verification_uri}`);
  say(`Compare or enter the code:  ${device.user_code}`);
  say('Waiting ...');
  try {
    return (await client.pollDeviceAuthorizationGrant(config, device)).access_token;
  } catch (error) {
    const { error: code } = error as { error?: string };
    if (code === 'access_denied') throw new LoginError('the request was denied', { cause: error });
    if (code === 'expired_token')
      throw new LoginError('the code has expired: run the command again', { cause: error });
    throw error;
  }
}

/** Returns the issuer whose tokens an API accepts (RFC 9728, 3). */
async function issuerOf(api: URL): Promise<URL> {
  const path = api.pathname.replace(/\/$/, '');
  const url = new URL(`/.well-known/oauth-protected-resource${path}`, api);
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) }).catch((error: unknown) =>
    Promise.reject(new LoginError(`the API ${api.href} does not answer: ${reasonOf(error)}`)),
  );
  const { data } = resourceMetadata.safeParse(await answer.json().catch(() => undefined));
  if (!answer.ok || !data)
    throw new LoginError(`${url.href} names no authorization server: check --api`);
  return new URL(data.authorization_servers[0] as string);
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error
    ? cause.message || String((cause as { code?: string }).code)
    : message;
}
