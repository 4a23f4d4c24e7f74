import { FailureCounter, networkOf } from '#identity';

/**
 * Counts wrong credentials by account and network, 60 in a minute, in this process. Who sends a right one is never asked,
 * so nobody is kept out by what others try.
 */
export class FailedLogins {
  private readonly failures = new FailureCounter(60);

  /** @throws RateLimited where there were too many. */
  count(account: string, address: string): void {
    const key = `${networkOf(address)} ${account.slice(0, 64).toLowerCase()}`;
    this.failures.check(key);
    this.failures.add(key);
  }
}
