import { Inject, Injectable } from '@nestjs/common';
import { type Revocation, RevocationWriter } from '#identity';
import type { Log } from '#runtime';
import { LOG } from '../account.config.js';

/**
 * Notifies gateways of revocations that are committed in Postgres. While Redis is unavailable,
 * issued tokens stay valid until they expire, for up to 10 minutes.
 */
@Injectable()
export class RevocationNotice {
  constructor(
    private readonly writer: RevocationWriter,
    @Inject(LOG) private readonly log: Log,
  ) {}

  async give(revocations: readonly Revocation[]): Promise<void> {
    try {
      await this.writer.revoke(revocations);
    } catch (error) {
      this.log.warn(
        { err: error },
        'a revocation could not be announced: what was issued before lives for ten minutes',
      );
    }
  }
}
