/** There were more requests than a limit allows. */
export class RateLimited extends Error {
  /** @param retryAfter seconds until there is room again. */
  constructor(readonly retryAfter: number) {
    super('too many requests');
    this.name = 'RateLimited';
  }
}
