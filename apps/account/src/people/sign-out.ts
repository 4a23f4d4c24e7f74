import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { RevocationWriter } from '#identity';
import { DataSource, type EntityManager } from 'typeorm';
import { rowsOf } from './statement.rows.js';

/** Ended sessions and grants, for the revocations after the commit. */
export interface Ended {
  readonly accountId: string;
  readonly sessions: readonly string[];
  readonly grants: readonly string[];
}

/** Access that a sign-out leaves. */
export interface Kept {
  /** Id of the session that requested the sign-out. */
  readonly session?: string;
  /** True to leave app passwords and the gpodder sessions that belong to them. */
  readonly appPasswords?: boolean;
}

/**
 * Statements that end access to the account `$1`, by table. {@link SignOut.within} runs them in
 * this order:
 * - The account comes first. Its lock waits for sign-ins, links and approvals in progress.
 * - Login flows precede app passwords: a poll in progress has created its app password by then.
 * - App passwords precede their sessions, which lock them.
 */
const endings = {
  /** An unconfirmed TOTP secret, which an ended session has seen. */
  accounts: `UPDATE account.accounts SET
      totp_secret = CASE WHEN totp_confirmed_at IS NOT NULL THEN totp_secret END,
      totp_step = CASE WHEN totp_confirmed_at IS NOT NULL THEN totp_step END
    WHERE id = $1`,
  logins: 'DELETE FROM account.logins WHERE account_id = $1',
  links: 'DELETE FROM account.links WHERE account_id = $1',
  sessions: `DELETE FROM account.sessions WHERE account_id = $1 AND id IS DISTINCT FROM $2::uuid
    RETURNING id`,
  /**
   * Grants. Codes and tokens are useless without their grant and are swept later (`sweep.ts`). The
   * fixed order prevents deadlocks.
   */
  oidc: `DELETE FROM account.oidc WHERE model = 'Grant' AND id = ANY (ARRAY(
      SELECT id FROM account.oidc WHERE account_id = $1 AND model = 'Grant' ORDER BY id FOR UPDATE))
    RETURNING grant_id AS id`,
  credentials: `UPDATE account.credentials SET suspended_at = now()
    WHERE account_id = $1 AND suspended_at IS NULL`,
  gpodder_sessions: `UPDATE account.gpodder_sessions SET ended_at = now()
    WHERE account_id = $1 AND ended_at IS NULL`,
} as const;

/** All tables with rows of an account: whether they grant access, and what ends it. */
export const accessByTable = {
  endedBySignOut: Object.keys(endings),
  /** They let in an owner without a phone after a reset. `RecoveryCodes.make` ends them. */
  endedByNewCodes: ['recovery_codes'],
  grantingNothing: ['devices', 'notices', 'settings'],
} as const;

/**
 * Ends everything that grants access to an account. Invariants:
 * - Whatever a session or link grants at the same moment is ended too, or refused: each addition
 *   locks the account, its session (`holdSession`), its login flow or its grant
 *   (issuer/oidc.adapter.ts).
 * - Suspended app passwords are invalid. Their owner chooses those to keep (`AppPasswords.keep`).
 */
@Injectable()
export class SignOut {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly revocations: RevocationWriter,
  ) {}

  /** Ends all access. */
  async everywhere(accountId: string): Promise<void> {
    await this.announce(
      await this.source.transaction((manager) => this.within(manager, accountId)),
    );
  }

  /**
   * Ends all access except `kept` within a transaction. Call {@link announce} after the commit;
   * otherwise issued tokens stay valid for up to 10 minutes.
   */
  async within(manager: EntityManager, accountId: string, kept: Kept = {}): Promise<Ended> {
    const end = (table: keyof typeof endings, ...more: unknown[]) =>
      rowsOf<{ id: string }>(manager, endings[table], [accountId, ...more]);
    await end('accounts');
    await end('logins');
    await end('links');
    const sessions = await end('sessions', kept.session ?? null);
    const grants = await end('oidc');
    if (!kept.appPasswords) {
      await end('credentials');
      await end('gpodder_sessions');
    }
    return {
      accountId,
      sessions: sessions.map(({ id }) => id),
      grants: grants.map(({ id }) => id),
    };
  }

  /** Makes gateways refuse what was ended. App passwords are looked up again. */
  async announce({ accountId, sessions, grants }: Ended): Promise<void> {
    await this.revocations.revoke([
      { kind: 'user', id: accountId },
      ...grants.map((id) => ({ kind: 'grant' as const, id })),
      ...sessions.map((id) => ({ kind: 'session' as const, id })),
    ]);
  }
}
