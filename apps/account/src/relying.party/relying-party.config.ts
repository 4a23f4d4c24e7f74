import { identityConfig } from '#identity';
import { z } from 'zod';

/** Configuration of sign-in by the operator's provider. */
export const relyingPartyConfig = z.object({
  SIGN_IN_ISSUER: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'OpenID Connect provider for sign-in, which replaces passwords and registration. ' +
        'Its redirect URI is `PUBLIC_URL` followed by `/sign-in/provider/callback`.',
    ),
  SIGN_IN_CLIENT_ID: z
    .string()
    .default('podcast-sync')
    .describe('Client id of this app at the provider.'),
  SIGN_IN_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Client secret of this app at the provider. Not set: a public client.'),
  ...identityConfig.shape,
});
