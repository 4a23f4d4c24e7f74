import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { RevocationNotice } from './revocation.notice.js';
import { rowsOf } from './statement.rows.js';

/** What ended, for the revocations after the commit. */
export interface Ended {
  readonly accountId: string;
  readonly sessions: readonly string[];
  readonly grants: readonly string[];
}

/**
 * Ends what people and apps are signed in with, and what somebody may have made ready to get in later: links that are
 * out, and the secret of a second factor that was never confirmed. Nothing is added to a grant that it has ended, as each addition takes the
 * lock of the grant's row (issuer/oidc.adapter.ts).
 */
@Injectable()
export class SignOut {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly revocations: RevocationNotice,
  ) {}

  /** Ends every session and every app's access of an account; app passwords stay. */
  async everywhere(accountId: string, exceptSession?: string): Promise<void> {
    const ended = await this.source.transaction((manager) => this.within(manager, accountId, exceptSession));
    await this.announce(ended);
  }

  /**
   * The same as a part of a transaction, with what else is to be committed with it. {@link announce} is for after the
   * commit: without it, tokens that were issued before live for their 10 minutes.
   */
  async within(manager: EntityManager, accountId: string, exceptSession?: string): Promise<Ended> {
    // The account first, as everything that holds it does.
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
    // Codes and tokens are good for nothing without their grant, and swept (`sweep.ts`). In an order, so that two
    // of these wait for each other in turn.
    const grants = await rowsOf<{ grant: string }>(
      manager,
      `DELETE FROM account.oidc WHERE model = 'Grant' AND id = ANY (ARRAY(
         SELECT id FROM account.oidc WHERE account_id = $1 AND model = 'Grant' ORDER BY id FOR UPDATE))
       RETURNING grant_id AS "grant"`,
      [accountId],
    );
    await manager.query(`DELETE FROM account.links WHERE account_id = $1 AND kind IN ('reset', 'verify')`, [accountId]);
    return { accountId, sessions: sessions.map(({ id }) => id), grants: grants.map(({ grant }) => grant) };
  }

  /** Has gateways refuse the tokens that came of what ended. */
  async announce({ accountId, sessions, grants }: Ended): Promise<void> {
    await this.revocations.give([
      { kind: 'user', id: accountId },
      ...grants.map((id) => ({ kind: 'grant' as const, id })),
      ...sessions.map((id) => ({ kind: 'session' as const, id })),
    ]);
  }
}
