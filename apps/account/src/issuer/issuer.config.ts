import { commaList, integer } from '#runtime';
import { z } from 'zod';

const requestLimit = integer(1, 1_000_000);

/** Configuration of the issuer. */
export const issuerConfig = z.object({
  KEYS_DIRECTORY: z
    .string()
    .describe(
      'Directory of the signing key (`signing-key.json`) and the key set (`jwks.json`). ' +
        'Changed files are reloaded.',
    ),
  API_URLS: commaList
    .pipe(z.array(z.url({ protocol: /^https?$/ })))
    .optional()
    .describe(
      'URLs of the API, which apps send as `resource` (RFC 8707): `https://api.example,…`. ' +
        'Not set: `PUBLIC_URL`.',
    ),
  API_AUDIENCE: z
    .string()
    .default('podcast-sync')
    .describe('`aud` of access tokens: one of `AUTH_AUDIENCE` of the API.'),
  MAX_TOKEN_REQUESTS: requestLimit.default(300).describe('Token requests per network and minute.'),
  MAX_AUTHORIZE_REQUESTS: requestLimit
    .default(60)
    .describe('Authorization requests of browsers and devices, per network and minute.'),
  MAX_REGISTRATIONS: requestLimit
    .default(60)
    .describe('Registrations of apps per network and hour.'),
});
