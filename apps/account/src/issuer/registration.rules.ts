import { parseUrl } from '#contracts';
import { z } from 'zod';
import { deviceGrantType } from './clients.js';
import { cleanLabel } from '../people/label.rules.js';

const maxRedirectUris = 5;
const maxUriLength = 2_000;

/** Hosts for which `http` is allowed: the machine of the app, with any port (RFC 8252, 7.3). */
const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Schema of a redirect URI. A private scheme must contain a dot, because it is a reversed domain
 * name of the app (RFC 8252, 7.1).
 */
const redirectUriSchema = z
  .string()
  .max(maxUriLength)
  .refine((uri) => {
    const url = parseUrl(uri);
    if (!url) return false;
    if (url.hash !== '' || uri.includes('#') || url.username !== '' || url.password !== '')
      return false;
    if (url.protocol === 'https:') return !loopbackHosts.has(url.hostname);
    return url.protocol === 'http:' ? loopbackHosts.has(url.hostname) : url.protocol.includes('.');
  }, 'must be https, http on the loopback interface, or a private scheme with a dot');

const allowedGrantTypes = ['authorization_code', 'refresh_token', deviceGrantType] as const;

/** Schema of a registration's metadata. Other members are ignored, as RFC 7591 (2) allows. */
const clientMetadataSchema = z.object({
  client_name: z.string().max(1_000).default('').transform(cleanLabel),
  redirect_uris: z.array(redirectUriSchema).max(maxRedirectUris).default([]),
  grant_types: z
    .array(z.enum(allowedGrantTypes))
    .max(allowedGrantTypes.length)
    .default(['authorization_code', 'refresh_token']),
  token_endpoint_auth_method: z.literal('none').default('none'),
  scope: z.string().max(maxUriLength).optional(),
});

/** Metadata of a registered OAuth client, as stored. */
export interface ClientRegistration {
  client_name: string;
  redirect_uris: string[];
  grant_types: string[];
  response_types: string[];
  application_type: 'native' | 'web';
  token_endpoint_auth_method: 'none';
  response_modes: string[];
}

/** Error response of a registration (RFC 7591, 3.2.2). */
export interface ClientRegistrationError {
  error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  error_description: string;
}

/**
 * Returns the metadata to store, or an error. Omits the logo and the home page, with which a client
 * could imitate another app.
 */
export function validateClientRegistration(
  body: unknown,
): ClientRegistration | ClientRegistrationError {
  const { success, data, error } = clientMetadataSchema.safeParse(body);
  if (!success) {
    const [issue] = error.issues;
    const invalidField = String(issue?.path[0] ?? 'the request');
    const errorCode =
      invalidField === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata';
    return {
      error: errorCode,
      error_description: `${invalidField}: ${issue?.message ?? 'invalid'}`,
    };
  }
  const { client_name, redirect_uris } = data;
  const usesCodes = data.grant_types.includes('authorization_code');
  if (usesCodes && redirect_uris.length === 0)
    return {
      error: 'invalid_redirect_uri',
      error_description: 'redirect_uris: at least one is required',
    };
  const isWeb = redirect_uris.length > 0 && redirect_uris.every((uri) => uri.startsWith('https:'));
  return {
    client_name: client_name || 'Unnamed app',
    redirect_uris: usesCodes ? redirect_uris : [],
    grant_types: [...new Set([...data.grant_types, 'refresh_token'])],
    response_types: usesCodes ? ['code'] : [],
    application_type: isWeb ? 'web' : 'native',
    token_endpoint_auth_method: 'none',
    // Other response modes need a form or script, which the content security policy forbids.
    response_modes: ['query', 'fragment'],
  };
}
