import { identityConfig } from '#identity';
import { z } from 'zod';

/** Configuration of sign-in by the operator's provider, which replaces passwords of this app. */
export const relyingPartyConfig = z.object({
  SIGN_IN_ISSUER: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'An OpenID Connect provider by which people sign in; passwords and registration are off then. Its redirect URI is `PUBLIC_URL` and `/sign-in/provider/callback`.',
    ),
  SIGN_IN_CLIENT_ID: z
    .string()
    .default('podcast-sync')
    .describe('The client that this app is there.'),
  SIGN_IN_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Its secret. Not set: a public client.'),
  ...identityConfig.shape,
});
