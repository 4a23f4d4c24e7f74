/** Thrown if a client sends more requests than a limit allows. */
export class RateLimited extends Error {
  /** @param retryAfter seconds until requests are allowed again. */
  constructor(readonly retryAfter: number) {
    super('too many requests');
    this.name = 'RateLimited';
  }
}
