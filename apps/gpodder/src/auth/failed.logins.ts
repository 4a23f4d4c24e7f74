import { FailureCounter, networkOf } from '#identity';

/**
 * Counts wrong credentials by account and network in this process, at most 60 in a minute. Valid
 * ones are not checked against it, so that guesses lock nobody out.
 */
export class FailedLogins {
  private readonly failures = new FailureCounter(60);

  /** @throws RateLimited after too many failures. */
  count(account: string, address: string): void {
    const key = `${networkOf(address)} ${account.slice(0, 64).toLowerCase()}`;
    this.failures.check(key);
    this.failures.add(key);
  }
}
