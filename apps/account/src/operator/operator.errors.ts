import { Failure } from '#contracts';
import { rootCauseOf } from '#database';
import { CommandFailed, ConfigurationError } from '#runtime';
import { Refusal, type RefusalCode } from '../people/refusal.js';

const reasons: Partial<Record<RefusalCode, string>> = {
  name: 'a name has 1 to 64 of the characters A-Z a-z 0-9 _ . -',
  name_taken: 'there is an account of this name, or one that has its data',
  erased: 'the data of this user was erased, or is being erased',
  link: 'the account is disabled: enable it first',
  label: 'the label has more than 64 characters, or none',
  scopes: 'there is no such scope',
  expiry: 'it would have expired by now',
  too_many: 'the account has as many app passwords as it may have',
};

/** Returns an error whose message explains the failure to the operator. */
export function explained(error: unknown): Error {
  if (error instanceof CommandFailed || error instanceof ConfigurationError) return error;
  return new CommandFailed(reasonOf(error), { cause: error });
}

function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return reasons[error.code] ?? error.code;
  if (error instanceof Failure)
    return `the deletion worker could not be reached (${rootCauseOf(error)}); nothing has changed`;
  return `Postgres could not do it (${rootCauseOf(error)}); does the system run?`;
}
