import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { eraseUser, type ReplyOf } from '#contracts';
import { StreamClient } from '#transport';
import { SignOut } from './sign-out.js';

/** Requests the erasure of a user's data. Then all services permanently refuse the user. */
@Injectable()
export class ErasureRequests {
  constructor(
    private readonly client: StreamClient,
    private readonly signOut: SignOut,
  ) {}

  /**
   * Requests an erasure and signs the user out. Idempotent.
   *
   * @throws Failure `unavailable` if the deletion worker is unreachable; nothing has changed then.
   */
  async requestErasure(accountId: string): Promise<ReplyOf<typeof eraseUser>> {
    const reply = await this.client.call(
      eraseUser,
      { userId: accountId },
      { requestId: randomUUID() },
    );
    await this.signOut.endAllAccess(accountId);
    return reply;
  }
}
