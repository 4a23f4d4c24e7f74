import { FailureCounter, networkOf } from '#identity';

/**
 * Limits wrong credentials by account and network in this process to 60 in a minute. Valid
 * credentials always work, so that an attacker cannot lock a user out.
 */
export class FailedLogins {
  private readonly failures = new FailureCounter(60);

  /** Counts a wrong credential. @throws RateLimited after too many. */
  count(account: string, address: string): void {
    const key = `${networkOf(address)} ${account.slice(0, 64).toLowerCase()}`;
    this.failures.check(key);
    this.failures.add(key);
  }
}
