import { inject } from 'vitest';
import { TokenIssuer, type TokenTerms } from '#embedded';

/** Where the system under test is, without a slash at the end. Only in the `e2e` tier. */
export function baseUrl(): string {
  return inject('stack').baseUrl;
}

/** A token that the system under test believes, for any user. Only in the `e2e` tier. */
export async function tokenFor(user: string, terms?: TokenTerms): Promise<string> {
  return (await TokenIssuer.open(inject('stack').keys)).issue(user, terms);
}
