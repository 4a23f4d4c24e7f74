import { guidSchema } from '#contracts';
import { v5 as uuidv5 } from 'uuid';
import { z } from 'zod';
import { commaList } from '#runtime';

/** What decides who is who. The same for every program that turns names into users. */
export const identityConfig = z.object({
  AUTH_OWN_ISSUER: commaList
    .optional()
    .describe('Under these issuers, `iss,…`, a subject that is a UUID is the user id itself. Not set: none.'),
  AUTH_ISSUER_ALIASES: z
    .string()
    .regex(/^[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*$/, 'must look like new-issuer=first-issuer,…')
    .optional()
    .describe('Issuers under a new name: `new=first,…`, so that users stay who they are when a provider moves.'),
});
export type IdentityConfig = z.output<typeof identityConfig>;

/**
 * The user that a credential names: the subject itself where the issuer is one of ours and it is a UUID, otherwise UUIDv5 of
 * the subject in the namespace that is UUIDv5 of the issuer. Never changed: stored data is found by it.
 */
export function userId(issuer: string, subject: string, ownIssuers: string | readonly string[] = []): string {
  const uuid = [ownIssuers].flat().includes(issuer) ? guidSchema.safeParse(subject) : undefined;
  return uuid?.success ? uuid.data : uuidv5(subject, uuidv5(issuer, uuidv5.URL));
}

/** Reads `new=first,…`: which issuer another one counts as. */
export function issuerAliases(setting: string | undefined): ReadonlyMap<string, string> {
  const pairs = setting?.split(',').map((pair) => pair.split('=').map((name) => name.trim()) as [string, string]);
  return new Map(pairs);
}
