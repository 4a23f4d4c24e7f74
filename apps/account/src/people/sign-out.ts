import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { RevocationNotice } from './revocation.notice.js';
import { rowsOf } from './statement.rows.js';

/** Ended sessions and grants, for the revocations after the commit. */
export interface Ended {
  readonly accountId: string;
  readonly sessions: readonly string[];
  readonly grants: readonly string[];
}

/**
 * Ends browser sessions and grants of apps. Also deletes open links and an unconfirmed TOTP secret,
 * which could restore access. Each addition to a grant locks the grant's row, so none follows its
 * deletion (issuer/oidc.adapter.ts).
 */
@Injectable()
export class SignOut {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly revocations: RevocationNotice,
  ) {}

  /** Ends all grants, and all sessions except `exceptSession`. App passwords stay valid. */
  async everywhere(accountId: string, exceptSession?: string): Promise<void> {
    const ended = await this.source.transaction((manager) =>
      this.within(manager, accountId, exceptSession),
    );
    await this.announce(ended);
  }

  /**
   * Does the same as {@link everywhere} within a transaction. Call {@link announce} after the
   * commit; otherwise issued tokens stay valid for up to 10 minutes.
   */
  async within(manager: EntityManager, accountId: string, exceptSession?: string): Promise<Ended> {
    // Lock order: the account first, as in all transactions that lock it.
    await manager.query(
      `UPDATE account.accounts SET totp_secret = NULL, totp_step = NULL
       WHERE id = $1 AND totp_confirmed_at IS NULL AND totp_secret IS NOT NULL`,
      [accountId],
    );
    const sessions = await rowsOf<{ id: string }>(
      manager,
      'DELETE FROM account.sessions WHERE account_id = $1 AND id IS DISTINCT FROM $2::uuid RETURNING id',
      [accountId, exceptSession ?? null],
    );
    // Codes and tokens are useless without their grant and are swept later (`sweep.ts`). The fixed
    // order prevents deadlocks.
    const grants = await rowsOf<{ grant: string }>(
      manager,
      `DELETE FROM account.oidc WHERE model = 'Grant' AND id = ANY (ARRAY(
         SELECT id FROM account.oidc WHERE account_id = $1 AND model = 'Grant' ORDER BY id FOR UPDATE))
       RETURNING grant_id AS "grant"`,
      [accountId],
    );
    await manager.query(
      `DELETE FROM account.links WHERE account_id = $1 AND kind IN ('reset', 'verify')`,
      [accountId],
    );
    return {
      accountId,
      sessions: sessions.map(({ id }) => id),
      grants: grants.map(({ grant }) => grant),
    };
  }

  /** Makes gateways refuse the tokens of ended sessions and grants. */
  async announce({ accountId, sessions, grants }: Ended): Promise<void> {
    await this.revocations.give([
      { kind: 'user', id: accountId },
      ...grants.map((id) => ({ kind: 'grant' as const, id })),
      ...sessions.map((id) => ({ kind: 'session' as const, id })),
    ]);
  }
}
