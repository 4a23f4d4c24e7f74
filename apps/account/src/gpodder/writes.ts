import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { defaultDeadlineMs, Failure } from '#contracts';
import { countdown, UserQueue } from '#database';
import { DataSource, type EntityManager } from 'typeorm';
import { rowsOf } from '../people/statement.rows.js';

/**
 * Transactions that lock what belongs to one person. Those of one person come one after another in a process, as each
 * would wait on a connection of its own for the others' lock; those of all processes, by that lock.
 */
@Injectable()
export class Writes {
  private readonly queue = new UserQueue();

  constructor(@InjectDataSource() private readonly source: DataSource) {}

  /**
   * @param of an account or an app password.
   * @throws Failure `unavailable` where those before take too long.
   */
  async run<Result>(of: string, write: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    return this.queue.run(of, countdown(defaultDeadlineMs), () => this.source.transaction(write));
  }

  /**
   * The same with the account locked.
   *
   * @throws Failure `unauthorized` where it is disabled or erased.
   */
  async ofAccount<Result>(accountId: string, write: (manager: EntityManager) => Promise<Result>): Promise<Result> {
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
