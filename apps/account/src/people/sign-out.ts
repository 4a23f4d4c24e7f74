import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { RevocationWriter } from '#identity';
import { DataSource, type EntityManager } from 'typeorm';
import { queryRows } from './query-rows.js';

/** Ids of the sessions and grants that a sign-out ended, for {@link SignOut.notifyGateways}. */
export interface EndedAccess {
  readonly accountId: string;
  readonly sessions: readonly string[];
  readonly grants: readonly string[];
}

/** Access to an account that a sign-out does not end. */
export interface KeptAccess {
  /** Id of the session that stays. Default: all sessions end. */
  readonly session?: string;
  /** True to keep app passwords, their gpodder sessions, and passkeys. Default: false. */
  readonly credentials?: boolean;
}

/**
 * Statements that end access to the account `$1`, by table. {@link SignOut.endAccess} runs them in
 * this order. All transactions lock rows of an account in this order, also `account.erase_user`:
 * - First the account. The statement waits for sign-ins, links and approvals in progress. Its lock
 *   prevents deadlocks of later statements, whose query plans lock rows in different orders.
 * - Login flows before app passwords. Their deletion waits for polls in progress. The app passwords
 *   of these polls then exist when app passwords are suspended.
 * - App passwords before gpodder sessions, which lock their app password.
 */
const endingStatements = {
  /** Deletes an unconfirmed TOTP secret, because an ended session could have shown it. */
  accounts: `UPDATE account.accounts SET
      totp_secret = CASE WHEN totp_confirmed_at IS NOT NULL THEN totp_secret END,
      totp_step = CASE WHEN totp_confirmed_at IS NOT NULL THEN totp_step END
    WHERE id = $1`,
  logins: 'DELETE FROM account.logins WHERE account_id = $1',
  links: 'DELETE FROM account.links WHERE account_id = $1',
  sessions: `DELETE FROM account.sessions WHERE account_id = $1 AND id IS DISTINCT FROM $2::uuid
    RETURNING id`,
  /**
   * Deletes grants, in a fixed order against deadlocks. Codes and tokens are invalid without their
   * grant; `sweep.ts` deletes them later.
   */
  oidc: `DELETE FROM account.oidc WHERE model = 'Grant' AND id = ANY (ARRAY(
      SELECT id FROM account.oidc WHERE account_id = $1 AND model = 'Grant' ORDER BY id FOR UPDATE))
    RETURNING grant_id AS id`,
  credentials: `UPDATE account.credentials SET suspended_at = now()
    WHERE account_id = $1 AND suspended_at IS NULL`,
  /** Suspended passkeys remain a second factor, which a password reset must not switch off. */
  passkeys: `UPDATE account.passkeys SET suspended_at = now()
    WHERE account_id = $1 AND suspended_at IS NULL`,
  gpodder_sessions: `UPDATE account.gpodder_sessions SET ended_at = now()
    WHERE account_id = $1 AND ended_at IS NULL`,
} as const;

/** All tables with rows of an account, grouped by the event that ends the access they grant. */
export const accessByTable = {
  endedBySignOut: Object.keys(endingStatements),
  /** A sign-out keeps recovery codes for owners who lost their phone. New codes replace them. */
  endedByNewCodes: ['recovery_codes'],
  grantingNothing: ['devices', 'notices', 'settings'],
} as const;

/**
 * Ends everything that grants access to an account. Invariants:
 * - Access that a session or link adds concurrently is ended too, or refused, because each addition
 *   locks the account, the session (`lockSession`), the login flow or the grant (`OidcAdapter`).
 * - App passwords are suspended, which makes them invalid. The owner chooses which become valid
 *   again (`AppPasswords.restoreSuspended`).
 * - Passkeys are suspended, which makes them second factors only. The next use as second factor,
 *   after the password, ends the suspension (`Passkeys`).
 */
@Injectable()
export class SignOut {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly revocations: RevocationWriter,
  ) {}

  /** Ends all access to an account. */
  async endAllAccess(accountId: string): Promise<void> {
    await this.notifyGateways(
      await this.source.transaction((manager) => this.endAccess(manager, accountId)),
    );
  }

  /**
   * Ends all access except `kept`, within the caller's transaction. Call {@link notifyGateways}
   * after the commit; without the call, issued tokens stay valid for up to 10 minutes.
   */
  async endAccess(
    manager: EntityManager,
    accountId: string,
    kept: KeptAccess = {},
  ): Promise<EndedAccess> {
    const runStatement = (table: keyof typeof endingStatements, ...values: unknown[]) =>
      queryRows<{ id: string }>(manager, endingStatements[table], [accountId, ...values]);
    await runStatement('accounts');
    await runStatement('logins');
    await runStatement('links');
    const sessions = await runStatement('sessions', kept.session ?? null);
    const grants = await runStatement('oidc');
    if (!kept.credentials) {
      await runStatement('credentials');
      await runStatement('passkeys');
      await runStatement('gpodder_sessions');
    }
    return {
      accountId,
      sessions: sessions.map(({ id }) => id),
      grants: grants.map(({ id }) => id),
    };
  }

  /** Makes gateways reject all tokens issued until now, and look up app passwords again. */
  async notifyGateways({ accountId, sessions, grants }: EndedAccess): Promise<void> {
    await this.revocations.revoke([
      { kind: 'user', id: accountId },
      ...grants.map((id) => ({ kind: 'grant' as const, id })),
      ...sessions.map((id) => ({ kind: 'session' as const, id })),
    ]);
  }
}
