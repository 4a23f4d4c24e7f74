import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { eraseUser, type ReplyOf } from '#contracts';
import { StreamClient } from '#transport';
import { SignOut } from './sign-out.js';

/**
 * Has everything of a person erased, which the deletion worker does: once it has recorded that, the person is refused
 * everywhere, this app included, and nothing brings the data back.
 */
@Injectable()
export class Erasure {
  constructor(
    private readonly client: StreamClient,
    private readonly signOut: SignOut,
  ) {}

  /**
   * Twice is once; a failure has changed nothing, or all of it will be done.
   *
   * @throws Failure `unavailable` where the deletion worker can't be reached; nothing has changed then.
   */
  async request(accountId: string): Promise<ReplyOf<typeof eraseUser>> {
    const reply = await this.client.call(eraseUser, { userId: accountId }, { requestId: randomUUID() });
    await this.signOut.everywhere(accountId);
    return reply;
  }
}
