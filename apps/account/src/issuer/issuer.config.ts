import { z } from 'zod';

const list = z.string().transform((text) => text.split(',').map((value) => value.trim()));

const integer = z.coerce.number().int().min(1).max(1_000_000);

/** The schema of the issuer's configuration. */
export const issuerConfig = z.object({
  KEYS_DIRECTORY: z
    .string()
    .describe(
      'Where the signing key (`signing-key.json`) and the key set (`jwks.json`) are; read again when they change.',
    ),
  API_URLS: list
    .pipe(z.array(z.url({ protocol: /^https?$/ })))
    .optional()
    .describe(
      'Under which URLs the API is reached, as apps name it (RFC 8707): `https://api.example,…`. Not set: `PUBLIC_URL`.',
    ),
  API_AUDIENCE: z
    .string()
    .default('podcast-sync')
    .describe('The `aud` of access tokens: one of `AUTH_AUDIENCE` of the API.'),
  MAX_TOKEN_REQUESTS: integer
    .default(300)
    .describe('Requests for tokens by one address in a minute.'),
  MAX_AUTHORIZE_REQUESTS: integer
    .default(60)
    .describe('Requests of apps to be let in, by one address in a minute: browsers and devices.'),
  MAX_REGISTRATIONS: integer
    .default(60)
    .describe('Apps that register from one address in an hour.'),
});
