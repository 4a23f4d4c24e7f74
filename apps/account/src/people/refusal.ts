/**
 * Reasons for a refusal, which the pages translate:
 * - `credentials`: wrong name or password, or a disabled account; the response does not say which.
 * - `code`: wrong or used code of the second factor; `ticket`: it has expired.
 * - `limited`: too many attempts; `busy`: too many concurrent ones; `unavailable`: outage.
 * - `registration`: registration is closed; `link`: the link is wrong, used or expired.
 * - `name`, `name_taken`, `name_needed`; `email`; `password_…`: a rejected new one.
 * - `label`, `scopes`, `expiry`: of an app password; `too_many`: the maximum number exists.
 * - `erased`: an id of erased data is not assigned again; `totp_on`: TOTP is on already.
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

/** Error for a refused request of a person. Contains no input. */
export class Refusal extends Error {
  /** @param retryAfter seconds until the next attempt, for `limited` and `busy`. */
  constructor(
    readonly code: RefusalCode,
    readonly retryAfter?: number,
  ) {
    super(code);
    this.name = 'Refusal';
  }
}
