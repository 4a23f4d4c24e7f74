import { Inject, Injectable } from '@nestjs/common';
import { type Revocation, RevocationWriter } from '#identity';
import type { Log } from '#runtime';
import { LOG } from '../account.config.js';

/**
 * Has gateways refuse what was ended in Postgres. That has been committed, so it is done whether or not they hear of it:
 * while Redis is away, tokens that came of it live until they expire, ten minutes at most.
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
