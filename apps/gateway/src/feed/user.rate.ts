import { RateLimited } from '#identity';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** Limits, for each user on one gateway, an operation that sends requests to other servers. */
export class UserRate {
  private readonly limiter: RateLimiterMemory;

  constructor(perMinute: number) {
    this.limiter = new RateLimiterMemory({ points: perMinute, duration: 60 });
  }

  /** Counts an operation of a user. @throws RateLimited above the limit. */
  async count(userId: string): Promise<void> {
    await this.limiter.consume(userId).catch((error: unknown) => {
      if (!(error instanceof RateLimiterRes)) throw error;
      throw new RateLimited(Math.ceil(error.msBeforeNext / 1_000));
    });
  }
}
