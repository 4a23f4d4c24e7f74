/**
 * Codes of refusals, which the pages translate:
 * - `credentials`: wrong name or password, or a disabled account; the response does not say which.
 * - `code`: wrong or used code of the second factor; `ticket`: expired ticket of the second step.
 * - `limited`: too many attempts; `busy`: too many concurrent ones; `unavailable`: outage.
 * - `registration`: registration is closed.
 * - `link`: the link is unknown, used or expired, or its account is disabled or missing.
 * - `app_request`: the request of an app for access is unknown, used or expired.
 * - `name`, `name_taken`, `name_needed`, `email`, `password_…`: rejected input.
 * - `label`, `scopes`, `expiry`: rejected property of an app password; `too_many`: limit reached.
 * - `erased`: the user's data was erased, and the id cannot be used again.
 * - `totp_on`: TOTP is already on.
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
  'app_request',
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
/** Code of a refusal. */
export type RefusalCode = (typeof refusalCodes)[number];

/** Kind of attempts that are limited. The pages say what else works. */
export type Attempt =
  'password' | 'change' | 'code' | 'recovery' | 'link' | 'registration' | 'mail' | 'export';

/** Error for a refused request of a person. It contains no entered data. */
export class Refusal extends Error {
  /**
   * @param retryAfter seconds until the next attempt, for `limited` and `busy`.
   * @param attempt for `limited`.
   */
  constructor(
    readonly code: RefusalCode,
    readonly retryAfter?: number,
    readonly attempt?: Attempt,
  ) {
    super(code);
    this.name = 'Refusal';
  }
}
