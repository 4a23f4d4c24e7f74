import { Inject, Injectable } from '@nestjs/common';
import { type Revocation, RevocationWriter } from '#identity';
import type { Log } from '#runtime';
import { LOG } from '../account.config.js';

/**
 * Notifies gateways of committed revocations. While Redis is unavailable, issued tokens stay valid
 * until they expire, for up to 10 minutes.
 */
@Injectable()
export class RevocationNotifier {
  constructor(
    private readonly writer: RevocationWriter,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Publishes revocations; a failure is only logged. */
  async notify(revocations: readonly Revocation[]): Promise<void> {
    try {
      await this.writer.revoke(revocations);
    } catch (error) {
      this.log.warn(
        { err: error },
        'revocation not published: issued tokens stay valid for up to 10 minutes',
      );
    }
  }
}
