import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { defaultDeadlineMs, Failure } from '#contracts';
import { countdown, UserQueue } from '#database';
import { DataSource, type EntityManager } from 'typeorm';
import { lockEnabledAccount } from '../people/sessions.js';

/**
 * Runs transactions that lock an account or an app password. Each process queues transactions with
 * the same lock, so that they wait without a Postgres connection.
 */
@Injectable()
export class AccountTransactions {
  private readonly queue = new UserQueue();

  constructor(@InjectDataSource() private readonly source: DataSource) {}

  /**
   * Runs a transaction after earlier ones with the same lock.
   *
   * @param lockId id of the account or app password that the transaction locks.
   * @throws Failure `unavailable` if the transaction waits longer than {@link defaultDeadlineMs}.
   */
  async runInOrder<Result>(
    lockId: string,
    runWrites: (manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    return this.queue.run(lockId, countdown(defaultDeadlineMs), () =>
      this.source.transaction(runWrites),
    );
  }

  /**
   * Runs a transaction that first locks the account.
   *
   * @throws Failure `unauthorized` if the account is disabled or erased.
   */
  async runWithAccountLock<Result>(
    accountId: string,
    runWrites: (manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    return this.runInOrder(accountId, async (manager) => {
      if (!(await lockEnabledAccount(manager, accountId))) throw new Failure('unauthorized');
      return runWrites(manager);
    });
  }
}
