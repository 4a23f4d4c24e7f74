import { guidSchema } from '#contracts';
import { v5 as uuidv5 } from 'uuid';
import { z } from 'zod';
import { commaList } from '#runtime';

/** Variables that define user ids. They must be the same for all programs. */
export const identityConfig = z.object({
  AUTH_OWN_ISSUER: commaList
    .optional()
    .describe('Issuers, `iss,…`, whose subject is the user id if it is a UUID. Not set: none.'),
  AUTH_ISSUER_ALIASES: z
    .string()
    .regex(/^[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*$/, 'must look like new-issuer=first-issuer,…')
    .optional()
    .describe('Renamed issuers, `new=first,…`: users keep their ids when a provider moves.'),
});
export type IdentityConfig = z.output<typeof identityConfig>;

/**
 * Returns the user id of a credential: the subject if it is a UUID and `ownIssuers` contains the
 * issuer, otherwise a UUIDv5 of issuer and subject. The result must never change, because it is the
 * key of stored data.
 */
export function userId(
  issuer: string,
  subject: string,
  ownIssuers: string | readonly string[] = [],
): string {
  const uuid = [ownIssuers].flat().includes(issuer) ? guidSchema.safeParse(subject) : undefined;
  return uuid?.success ? uuid.data : uuidv5(subject, uuidv5(issuer, uuidv5.URL));
}

/** Parses `new=first,…` into a map from the new issuer to the first one. */
export function issuerAliases(setting: string | undefined): ReadonlyMap<string, string> {
  const pairs = setting
    ?.split(',')
    .map((pair) => pair.split('=').map((issuer) => issuer.trim()) as [string, string]);
  return new Map(pairs);
}
