import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { defaultDeadlineMs, Failure } from '#contracts';
import { countdown, UserQueue } from '#database';
import { DataSource, type EntityManager } from 'typeorm';
import { rowsOf } from '../people/statement.rows.js';

/**
 * Runs transactions that lock an account or app password. Each process queues those of the same
 * one, so that waiting for the lock occupies no connections.
 */
@Injectable()
export class Writes {
  private readonly queue = new UserQueue();

  constructor(@InjectDataSource() private readonly source: DataSource) {}

  /**
   * Queues a transaction by the account or app password `of`.
   *
   * @throws Failure `unavailable` if it is queued for too long.
   */
  async run<Result>(
    of: string,
    write: (manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    return this.queue.run(of, countdown(defaultDeadlineMs), () => this.source.transaction(write));
  }

  /**
   * Queues a transaction that first locks the account.
   *
   * @throws Failure `unauthorized` if the account is disabled or erased.
   */
  async ofAccount<Result>(
    accountId: string,
    write: (manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    return this.run(accountId, async (manager) => {
      const held = await rowsOf(
        manager,
        'SELECT 1 FROM account.accounts WHERE id = $1 AND disabled_at IS NULL FOR NO KEY UPDATE',
        [accountId],
      );
      if (held.length === 0) throw new Failure('unauthorized');
      return write(manager);
    });
  }
}
