import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database/typeorm';
import type { EntityManager, Repository } from 'typeorm';
import { Notices } from './notices.js';
import { queryRows } from './query-rows.js';
import { Refusal } from './refusal.js';
import { lockSession } from './sessions.js';

/** Key of the advisory lock of {@link lockAdministrators}. */
const administratorsLockKey = 7_146_002;

/**
 * Appoints and dismisses administrators, who manage the accounts of others. Invariants:
 * - No dismissal and no disabling removes the last enabled administrator. Both run one at a time
 *   ({@link lockAdministrators}).
 * - An erasure can remove the last administrator, since people can always erase their own account.
 *   The operator then appoints another one.
 */
@Injectable()
export class Administrators {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly notices: Notices,
  ) {}

  /**
   * Makes a person an administrator, and notifies the person.
   *
   * @param session id of the appointing browser's session; undefined for commands of the operator.
   * @throws Refusal `credentials` if the session has ended.
   */
  async appoint(id: string, session?: string): Promise<void> {
    const isAppointed = await this.accounts.manager.transaction(async (manager) => {
      const nonAdministrator = { id, isAdministrator: false };
      const { affected } = await manager.update(AccountEntity, nonAdministrator, {
        isAdministrator: true,
      });
      await lockSession(manager, session);
      return affected === 1;
    });
    if (isAppointed) await this.notices.addNotice(id, 'appointed');
  }

  /** Dismisses an administrator, and notifies the person. @throws Refusal `last_administrator`. */
  async dismiss(id: string): Promise<void> {
    const isDismissed = await this.accounts.manager.transaction(async (manager) => {
      await lockAdministrators(manager);
      if (!(await manager.existsBy(AccountEntity, { id, isAdministrator: true }))) return false;
      await updateUnlessLastAdministrator(manager, id, 'is_administrator = false');
      return true;
    });
    if (isDismissed) await this.notices.addNotice(id, 'dismissed');
  }
}

/**
 * Locks the set of administrators until the transaction ends. Call this before
 * {@link updateUnlessLastAdministrator}, so that its statement sees the changes of all transactions
 * that had the lock earlier.
 */
export async function lockAdministrators(manager: EntityManager): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock($1)', [administratorsLockKey]);
}

/**
 * Changes an account, unless it is the only enabled administrator. Does nothing for an unknown
 * account. Requires {@link lockAdministrators}.
 *
 * @param change SQL of the SET clause.
 * @throws Refusal `last_administrator`.
 */
export async function updateUnlessLastAdministrator(
  manager: EntityManager,
  id: string,
  change: string,
): Promise<void> {
  const changedRows = await queryRows(
    manager,
    `UPDATE account.accounts a SET ${change}
     WHERE id = $1 AND (NOT is_administrator OR disabled_at IS NOT NULL OR EXISTS (
       SELECT FROM account.accounts o
       WHERE o.id <> a.id AND o.is_administrator AND o.disabled_at IS NULL))
     RETURNING id`,
    [id],
  );
  if (changedRows.length === 0 && (await manager.existsBy(AccountEntity, { id })))
    throw new Refusal('last_administrator');
}
