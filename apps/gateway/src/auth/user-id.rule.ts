import { guidSchema } from '#contracts';
import { v5 as uuidv5 } from 'uuid';

/**
 * The user that a credential names: the subject itself where the issuer is ours and it is a UUID, otherwise UUIDv5 of
 * the subject in the namespace that is UUIDv5 of the issuer. Never changed: stored data is found by it.
 */
export function userId(issuer: string, subject: string, ownIssuer: string): string {
  const uuid = issuer === ownIssuer ? guidSchema.safeParse(subject) : undefined;
  return uuid?.success ? uuid.data : uuidv5(subject, uuidv5(issuer, uuidv5.URL));
}

/** Reads `new=first,…`: which issuer another one counts as. */
export function issuerAliases(setting: string | undefined): ReadonlyMap<string, string> {
  const pairs = setting?.split(',').map((pair) => pair.split('=').map((name) => name.trim()) as [string, string]);
  return new Map(pairs);
}
