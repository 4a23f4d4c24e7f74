import { RevocationWriter } from '#identity';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import {
  type Credential,
  recordAppPasswordUse,
  type ValidAppPassword,
  validAppPasswords,
} from '../credentials/app-passwords.js';
import { queryRows } from '../people/query-rows.js';
import { AccountTransactions } from './account-transactions.js';

/** Maximum numbers of sessions per app password: usable ones, and ended or expired ones. */
const maxSessions = { usable: 50, endedOrExpired: 200 } as const;

/** SQL condition that is true for an ended or expired session `s`. */
const endedOrExpiredCondition =
  "(s.ended_at IS NOT NULL OR s.last_used_at < now() - interval '365 days')";

/** State of a session in a row of a SELECT. Both fields are null if the session is not stored. */
interface StoredSession {
  readonly isEndedOrExpired: boolean | null;
  readonly isSessionUseOutdated: boolean | null;
}

/**
 * Sessions of the gpodder API. The gpodder app signs their cookies; a session is stored when its
 * cookie arrives for the first time. Invariants:
 * - A session ends when its app password is revoked, expires or is suspended.
 * - Up to 200 ended and expired (unused for a year) sessions are kept, so that their cookies cannot
 *   start them again. The oldest are deleted.
 * - Each app password has at most 50 usable sessions. A further session replaces the least recently
 *   used one. The cookie of the replaced session can start that session again.
 */
@Injectable()
export class GpodderSessions {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly transactions: AccountTransactions,
    private readonly revocations: RevocationWriter,
  ) {}

  /**
   * Returns the credential of a session; `null` if the session or its app password is invalid. The
   * first call stores the session. Uses are recorded at most once a day.
   */
  async findAndRecordUse(id: string, credentialId: string): Promise<Credential | null> {
    const [row] = await queryRows<ValidAppPassword & StoredSession>(
      this.source.manager,
      `SELECT ${validAppPasswords.columns},
         CASE WHEN s.id IS NOT NULL THEN ${endedOrExpiredCondition} END AS "isEndedOrExpired",
         s.last_used_at < now() - interval '1 day' AS "isSessionUseOutdated"
       FROM ${validAppPasswords.tables}
       LEFT JOIN account.gpodder_sessions s ON s.credential_id = c.id AND s.id = $2
       WHERE c.id = $1 AND ${validAppPasswords.condition}`,
      [credentialId, id],
    );
    if (!row || row.isEndedOrExpired) return null;
    if (row.isEndedOrExpired === null && !(await this.storeNewSession(id, row))) return null;
    if (row.isSessionUseOutdated) await this.recordUse(id, credentialId);
    return recordAppPasswordUse(this.source.manager, row);
  }

  /** Ends a session permanently, even if it is not stored yet. */
  async endSession(id: string, credentialId: string): Promise<void> {
    await this.transactions.runInOrder(credentialId, async (manager) => {
      const endedRows = await queryRows(
        manager,
        `INSERT INTO account.gpodder_sessions AS s (credential_id, id, account_id, ended_at)
         SELECT c.id, $2, c.account_id, now() FROM account.credentials c
         WHERE c.id = $1 FOR NO KEY UPDATE
         ON CONFLICT (credential_id, id)
           DO UPDATE SET ended_at = coalesce(s.ended_at, excluded.ended_at) RETURNING 1`,
        [credentialId, id],
      );
      if (endedRows.length > 0) await deleteExcessSessions(manager, credentialId);
    });
    // Notifies even if an earlier call ended the session, since that call can have crashed here.
    await this.revocations.revoke([{ kind: 'gpodder_session', id }]);
  }

  /** Stores a new session. @returns false if it has ended, or its app password is invalid. */
  private storeNewSession(id: string, { credentialId }: ValidAppPassword): Promise<boolean> {
    return this.transactions.runInOrder(credentialId, async (manager) => {
      // The lock of the app password's row keeps concurrent inserts below the maximum. Without a
      // row, the app password was revoked or suspended.
      const [row] = await queryRows<{ isOpen: boolean }>(
        manager,
        `INSERT INTO account.gpodder_sessions AS s (credential_id, id, account_id, last_used_at)
         SELECT c.id, $2, c.account_id, clock_timestamp() FROM account.credentials c
         WHERE c.id = $1 AND c.suspended_at IS NULL FOR NO KEY UPDATE
         ON CONFLICT (credential_id, id) DO UPDATE SET last_used_at = s.last_used_at
         RETURNING s.ended_at IS NULL AS "isOpen"`,
        [credentialId, id],
      );
      if (row) await deleteExcessSessions(manager, credentialId);
      return row?.isOpen ?? false;
    });
  }

  private async recordUse(id: string, credentialId: string): Promise<void> {
    await this.source.query(
      `UPDATE account.gpodder_sessions s SET last_used_at = now()
       WHERE s.credential_id = $1 AND s.id = $2 AND s.last_used_at < now() - interval '1 day'
         AND NOT ${endedOrExpiredCondition}`,
      [credentialId, id],
    );
  }
}

/**
 * Deletes the oldest sessions above {@link maxSessions}, which limits usable sessions, and ended or
 * expired ones, separately. Requires a lock on the app password's row.
 */
async function deleteExcessSessions(manager: EntityManager, credentialId: string): Promise<void> {
  await manager.query(
    `DELETE FROM account.gpodder_sessions WHERE credential_id = $1 AND id IN (
       SELECT id FROM (
         SELECT s.id, ${endedOrExpiredCondition} AS is_ended, row_number() OVER (
           PARTITION BY ${endedOrExpiredCondition}
           ORDER BY coalesce(s.ended_at, s.last_used_at) DESC, s.id) AS rank
         FROM account.gpodder_sessions s WHERE s.credential_id = $1) ranked
       WHERE ranked.rank > CASE WHEN ranked.is_ended THEN $3::integer ELSE $2::integer END)`,
    [credentialId, maxSessions.usable, maxSessions.endedOrExpired],
  );
}
