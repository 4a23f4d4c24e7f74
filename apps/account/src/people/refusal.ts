/**
 * Codes of refusals, which the pages translate:
 * - `credentials`: wrong name or password, a disabled account, or an ended session; the response
 *   does not say which.
 * - `code`: wrong or used code of the second factor.
 * - `ticket`: the ticket of the second step is invalid or expired, or the password has changed.
 * - `limited`: too many attempts in a period; `busy`: too many concurrent ones.
 * - `unavailable`: the OpenID provider does not respond, or no mail server is configured.
 * - `registration`: registration is closed.
 * - `link`: the link is unknown, used or expired, or its account is disabled or missing.
 * - `app_request`: the request of an app for access is unknown, used or expired.
 * - `name`, `name_taken`, `email`, `password_…`: rejected input.
 * - `name_needed`: the action requires a name, and the account has none yet.
 * - `label`, `scopes`, `expiry`: rejected property of a new app password.
 * - `too_many`: the account has the maximum number of app passwords.
 * - `passkey`: the response of a passkey is invalid, expired or used, or the passkey is unknown,
 *   suspended or of a disabled account; the response does not say which.
 * - `passkeys_full`: the account has the maximum number of passkeys.
 * - `erased`: the user's data was erased or is being erased. The user id cannot be used again.
 * - `totp_on`: TOTP is already on.
 * - `last_administrator`: the account is the only enabled administrator.
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
  'passkey',
  'passkeys_full',
  'erased',
  'last_administrator',
] as const;
/** Code of a refusal, which selects its text. */
export type RefusalCode = (typeof refusalCodes)[number];

/** Action that reached its limit of attempts. The pages have a text for each action. */
export type LimitedAction =
  'password' | 'change' | 'code' | 'recovery' | 'link' | 'registration' | 'mail' | 'export';

/** Error for a refused request of a person. It contains no entered data. */
export class Refusal extends Error {
  /**
   * @param retryAfter seconds until the next allowed attempt, for `limited` and `busy`.
   * @param limitedAction action that reached its limit, for `limited`.
   */
  constructor(
    readonly code: RefusalCode,
    readonly retryAfter?: number,
    readonly limitedAction?: LimitedAction,
  ) {
    super(code);
    this.name = 'Refusal';
  }
}
