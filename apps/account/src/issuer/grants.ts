import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { OidcEntity } from '#database';
import { RevocationWriter } from '#identity';
import type { Log } from '#runtime';
import { Repository } from 'typeorm';
import { LOG } from '../account.config.js';
import { Clients } from './clients.js';

/** An app that may act for a person, on one of its devices. */
export interface GrantedApp {
  /** Of the grant; the `gid` of its tokens. */
  readonly grantId: string;
  readonly client: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
  readonly since: Date;
  /** When it last got a token. */
  readonly lastUsedAt: Date;
}

interface Row {
  grantId: string;
  clientId: string;
  scope: string | null;
  since: string;
  lastUsedAt: string;
}

/** Apps of one person that are listed at most. */
const mostListed = 500;

/**
 * What people have allowed to apps. Invariants:
 * - A grant ends once, for all replicas, with the commit that removes its row: nothing is added to it afterwards
 *   (oidc.adapter.ts).
 * - Its access tokens are refused from then on. Where Redis is away, or the process dies just then, they live for the rest
 *   of their 10 minutes.
 */
@Injectable()
export class Grants {
  constructor(
    @InjectRepository(OidcEntity) private readonly rows: Repository<OidcEntity>,
    private readonly clients: Clients,
    private readonly revocations: RevocationWriter,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** The apps that are signed in, the last one that signed in first. */
  async listApps(accountId: string): Promise<GrantedApp[]> {
    const rows = (await this.rows.query(
      `SELECT g.grant_id AS "grantId", g.payload ->> 'clientId' AS "clientId", g.created_at AS since,
         t.created_at AS "lastUsedAt", t.payload ->> 'scope' AS scope
       FROM account.oidc g, LATERAL (
         SELECT * FROM account.oidc t
         WHERE t.grant_id = g.grant_id AND t.model = 'RefreshToken' AND t.expires_at > now()
         ORDER BY t.created_at DESC LIMIT 1) t
       WHERE g.account_id = $1 AND g.model = 'Grant' ORDER BY g.created_at DESC LIMIT $2`,
      [accountId, mostListed],
    )) as Row[];
    const names = await this.clients.namesOf([...new Set(rows.map(({ clientId }) => clientId))]);
    return rows.map(({ grantId, clientId, scope, since, lastUsedAt }) => ({
      grantId,
      client: { id: clientId, name: names.get(clientId) ?? clientId },
      scopes: scope?.split(' ') ?? [],
      since: new Date(since),
      lastUsedAt: new Date(lastUsedAt),
    }));
  }

  /** Signs an app of a person out. @returns whether it was signed in. Twice is once. */
  async endGrant(accountId: string, grantId: string): Promise<boolean> {
    const isTheirs = await this.rows.existsBy({ model: 'Grant', accountId, grantId });
    if (isTheirs) await this.end(grantId);
    return isTheirs;
  }

  /** Ends a grant, whosever it is. */
  async end(grantId: string): Promise<void> {
    // By itself first: it waits for whatever is being added to the grant, and the last statement sees that.
    await this.rows.delete({ model: 'Grant', grantId });
    await this.revocations.revoke([{ kind: 'grant', id: grantId }]).catch((error: unknown) => {
      this.log.warn({ err: error }, 'an app was signed out, and its access token lives on: Redis is away');
    });
    // Useless by now, and swept where this does not come to pass.
    await this.rows.delete({ grantId });
  }
}
