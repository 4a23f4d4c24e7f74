import type { OnApplicationShutdown } from '@nestjs/common';
import { RevocationWriter } from '#identity';
import type { connectRedis } from '#redis';
import type { Log } from '#runtime';

/**
 * Revokes the credentials of erased users in every gateway. The services reject these users anyway.
 */
export class ErasureNotice implements OnApplicationShutdown {
  private readonly writer: RevocationWriter;

  /** @param redis the Redis of requests and revocations; it closes with the app. */
  constructor(
    private readonly redis: ReturnType<typeof connectRedis>,
    private readonly log: Log,
  ) {
    this.writer = new RevocationWriter(redis);
    redis.on('error', (error: Error) =>
      log.debug({ err: error }, 'revocations: Redis connection error'),
    );
  }

  /**
   * Revokes all credentials of a user, after the commit of the erasure's record. Without Redis,
   * gateways accept credentials until they expire, and the services reject the requests.
   */
  async send(userId: string): Promise<void> {
    try {
      await this.writer.revoke([{ kind: 'user', id: userId }]);
    } catch (error) {
      this.log.warn({ err: error }, 'credentials of an erased user not revoked: Redis unavailable');
    }
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
