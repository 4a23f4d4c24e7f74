/**
 * Why a person is refused something, for the pages to say in their words:
 * - `credentials`: the name or the password is wrong, or the account is disabled; which of them is not said.
 * - `code`: the code of the second factor is wrong or was used before; `ticket`: the password was given too long ago.
 * - `limited`: too many tries; `busy`: too much at the same time; `unavailable`: what is needed can't be reached now.
 * - `registration`: nobody can register; `link`: the link is wrong, was used or has expired.
 * - `name`, `name_taken`, `name_needed`; `email`; `password_short`, `password_long`, `password_common`.
 * - `label`, `scopes`, `expiry`: of an app password; `too_many`: there are as many as there may be.
 * - `erased`: an id whose data was erased is not given again.
 */
export const refusalCodes = [
  'credentials',
  'code',
  'ticket',
  'limited',
  'busy',
  'unavailable',
  'registration',
  'link',
  'name',
  'name_taken',
  'name_needed',
  'email',
  'password_short',
  'password_long',
  'password_common',
  'label',
  'scopes',
  'expiry',
  'too_many',
  'totp_on',
  'erased',
] as const;
export type RefusalCode = (typeof refusalCodes)[number];

/** What a person asked for is refused. Holds nothing that was entered. */
export class Refusal extends Error {
  /** @param retryAfter seconds until it may be tried again, of `limited` and `busy`. */
  constructor(
    readonly code: RefusalCode,
    readonly retryAfter?: number,
  ) {
    super(code);
    this.name = 'Refusal';
  }
}
