import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { OidcEntity } from '#database/typeorm';
import { RevocationWriter } from '#identity';
import { Repository } from 'typeorm';
import { Clients } from './clients.js';

/** App with a grant of a user. The same app on two devices has two grants. */
export interface GrantedApp {
  /** Id of the grant, and `gid` of its tokens. */
  readonly grantId: string;
  readonly client: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
  /** Time at which the user allowed the app. */
  readonly since: Date;
  /** Time at which the newest refresh token was issued. */
  readonly lastUsedAt: Date;
}

interface GrantRow {
  grantId: string;
  clientId: string;
  scope: string | null;
  since: string;
  lastUsedAt: string;
}

const maxListedGrants = 500;

/**
 * Lists and ends the grants of apps. Invariants:
 * - A grant ends on all replicas with the commit that deletes its row (oidc-adapter.ts).
 * - Gateways then reject the grant's access tokens. If Redis is unavailable or the process dies,
 *   the tokens stay valid for the rest of their 10 minutes.
 */
@Injectable()
export class Grants {
  constructor(
    @InjectRepository(OidcEntity) private readonly rows: Repository<OidcEntity>,
    private readonly clients: Clients,
    private readonly revocations: RevocationWriter,
  ) {}

  /** Returns the newest 500 grants of a user with a valid refresh token, newest first. */
  async listApps(accountId: string): Promise<GrantedApp[]> {
    const rows = (await this.rows.query(
      `SELECT g.grant_id AS "grantId", g.payload ->> 'clientId' AS "clientId",
         g.created_at AS since, t.created_at AS "lastUsedAt", t.payload ->> 'scope' AS scope
       FROM account.oidc g, LATERAL (
         SELECT * FROM account.oidc t
         WHERE t.grant_id = g.grant_id AND t.model = 'RefreshToken' AND t.expires_at > now()
         ORDER BY t.created_at DESC LIMIT 1) t
       WHERE g.account_id = $1 AND g.model = 'Grant' ORDER BY g.created_at DESC LIMIT $2`,
      [accountId, maxListedGrants],
    )) as GrantRow[];
    const clientNames = await this.clients.readNames([
      ...new Set(rows.map(({ clientId }) => clientId)),
    ]);
    return rows.map(({ grantId, clientId, scope, since, lastUsedAt }) => ({
      grantId,
      client: { id: clientId, name: clientNames.get(clientId) ?? clientId },
      scopes: scope?.split(' ') ?? [],
      since: new Date(since),
      lastUsedAt: new Date(lastUsedAt),
    }));
  }

  /** Ends a grant of this user. Idempotent. @returns true if the user had this grant. */
  async endGrant(accountId: string, grantId: string): Promise<boolean> {
    const hasGrant = await this.rows.existsBy({ model: 'Grant', accountId, grantId });
    if (hasGrant) await this.endUnchecked(grantId);
    return hasGrant;
  }

  /** Ends a grant of any user. Callers check the owner. */
  async endUnchecked(grantId: string): Promise<void> {
    // Waits for transactions that add rows to the grant. The last line then deletes their rows.
    await this.rows.delete({ model: 'Grant', grantId });
    await this.revocations.revoke([{ kind: 'grant', id: grantId }]);
    // The grant's codes and tokens are already invalid. `sweep.ts` deletes them if this line fails.
    await this.rows.delete({ grantId });
  }
}
