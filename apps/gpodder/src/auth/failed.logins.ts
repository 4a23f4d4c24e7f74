import { networkOf, RateLimited } from '#identity';

/** Wrong credentials of one account from one network in {@link windowMs}; how many of them are counted. */
const [most, mostCounted] = [60, 10_000];
/** In milliseconds. */
const windowMs = 60_000;

/**
 * Counts wrong credentials by account and network, in this process. Who sends a right one is never asked, so nobody is kept
 * out by what others try.
 */
export class FailedLogins {
  /** The oldest first. */
  private readonly counted = new Map<string, { since: number; count: number }>();

  /** @throws RateLimited where there were too many. */
  count(account: string, address: string): void {
    const key = `${networkOf(address)} ${account.slice(0, 64).toLowerCase()}`;
    const now = performance.now();
    const known = this.counted.get(key);
    const own = known && now < known.since + windowMs ? known : { since: now, count: 0 };
    own.count += 1;
    this.counted.delete(key);
    this.counted.set(key, own);
    for (const oldest of this.counted.keys()) {
      if (this.counted.size <= mostCounted) break;
      this.counted.delete(oldest);
    }
    if (own.count > most) throw new RateLimited(Math.ceil((own.since + windowMs - now) / 1_000));
  }
}
