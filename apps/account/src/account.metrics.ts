import { registerCounterByLabel, registerGauge, oneCounter } from '#runtime';

/** Registers two metrics: sign-ins by outcome, and password hashes that wait for a slot. */
export function registerSignInMetrics(
  readCounts: () => { outcomes: Readonly<Record<string, number>>; waiting: number },
): void {
  registerCounterByLabel(
    'podcast_sync_sign_ins_total',
    'Sign-ins of people by outcome: `signed_in`, `needs_code`, `refused`, `limited`, `busy`.',
    'outcome',
    () => readCounts().outcomes,
  );
  registerGauge(
    'podcast_sync_password_hashes_waiting',
    'Password hashes in the queue.',
    () => readCounts().waiting,
  );
}

/**
 * Registers the counter of token requests.
 *
 * @returns function that counts one request by its grant type, such as `refresh_token`, and by its
 *   outcome: `issued`, or the OAuth error code (RFC 6749, 5.2).
 */
export function createTokenRequestCounter(): (grantType: string, outcome: string) => void {
  const requests = oneCounter(
    'podcast_sync_token_requests_total',
    'Token requests of apps by grant type and outcome: `issued`, or an OAuth error.',
    ['grant_type', 'outcome'],
  );
  return (grant_type, outcome) => requests.inc({ grant_type, outcome });
}
