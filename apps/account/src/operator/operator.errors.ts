import { Failure } from '#contracts';
import { rootCauseOf } from '#database';
import { CommandFailed, ConfigurationError } from '#runtime';
import { Refusal, type RefusalCode } from '../people/refusal.js';

const reasonTexts: Partial<Record<RefusalCode, string>> = {
  name: 'a name must have 1 to 64 of the characters A-Z a-z 0-9 _ . -',
  name_taken: 'the name is taken, or its user id belongs to another account: choose another one',
  erased: 'the data of this user was erased or is being erased, which is permanent',
  link: 'the account is disabled: enable it first',
  last_administrator: 'the account is the only enabled administrator: appoint another one first',
  label: 'the label must have 1 to 64 characters, and at least one letter or digit',
  scopes: 'unknown scope: see "token --help"',
  expiry: 'the lifetime must be positive',
  too_many: 'the account has the maximum number of app passwords: revoke one first',
};

/** Returns an error whose message explains the failure to the operator. */
export function toOperatorError(error: unknown): Error {
  if (error instanceof CommandFailed || error instanceof ConfigurationError) return error;
  return new CommandFailed(describeReason(error), { cause: error });
}

function describeReason(error: unknown): string {
  if (error instanceof Refusal) return reasonTexts[error.code] ?? error.code;
  if (error instanceof Failure)
    return `the deletion worker is unavailable (${rootCauseOf(error)}): nothing changed, try again`;
  return (
    `Postgres failed (${rootCauseOf(error)}): ` +
    'check that the system is running and that DATABASE_URL is right'
  );
}
