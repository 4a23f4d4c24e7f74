import type { OnApplicationShutdown } from '@nestjs/common';
import { RevocationWriter } from '#identity';
import type { connectRedis } from '#redis';
import type { Log } from '#runtime';

/** Has every process that accepts credentials refuse a user at once; the services refuse them in any case. */
export class ErasureNotice implements OnApplicationShutdown {
  private readonly writer: RevocationWriter;

  /** @param redis the Redis that carries requests, and revocations; closed with the app. */
  constructor(
    private readonly redis: ReturnType<typeof connectRedis>,
    private readonly log: Log,
  ) {
    this.writer = new RevocationWriter(redis);
    redis.on('error', (error: Error) => log.debug({ err: error }, 'the Redis of revocations can not be reached'));
  }

  /** To be given once the erasure is recorded. Without Redis credentials are accepted until they expire, for nothing. */
  async give(userId: string): Promise<void> {
    try {
      await this.writer.revoke([{ kind: 'user', id: userId }]);
    } catch (error) {
      this.log.warn({ err: error }, 'the credentials of a user who is erased could not be revoked');
    }
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
