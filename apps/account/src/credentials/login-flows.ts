import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type beginLogin, type ReplyOf, type RequestOf, scopes } from '#contracts';
import { CredentialEntity, LoginEntity } from '#database/typeorm';
import { networkOf, RevocationWriter } from '#identity';
import type { EntityManager, Repository } from 'typeorm';
import { Notices } from '../people/notices.js';
import { PEOPLE_CONFIG, type PeopleConfig } from '../people/people.config.js';
import { deleteExcessRowsByNetwork, type LimitedRows } from '../people/network-quota.js';
import { Refusal } from '../people/refusal.js';
import { hashSecret } from '../people/secret-hash.js';
import { queryRows } from '../people/query-rows.js';
import { appLabel } from '../people/label.rules.js';
import { insertAppPassword, lockAndCheckAppPasswordLimit } from './app-passwords.js';

/** Login flow of an app, which waits until a person approves it in a browser. */
export interface LoginFlow {
  /** Name that the app sends; also the label of its app password. */
  readonly label: string;
  /** IP address of the app that started the flow. */
  readonly address: string;
  readonly createdAt: Date;
}

/** Response to a successful poll, with the field names of Nextcloud. */
export interface LoginResult {
  readonly server: string;
  readonly loginName: string;
  readonly appPassword: string;
}

/** Limit of open login flows, which unauthenticated clients start. */
const openFlowLimit: LimitedRows = {
  table: 'logins',
  condition: 'account_id IS NULL AND expires_at > now()',
  max: 10_000,
};

/** Syntax of login tokens and poll tokens. Shorter tokens could be guessed. */
const flowTokenPattern = /^[\w-]{22,256}$/;

/** Returns the hash of a login token or poll token; undefined if the token is malformed. */
const hashToken = (token: string) => (flowTokenPattern.test(token) ? hashSecret(token) : undefined);

/**
 * Nextcloud's login flow (v2): an app starts a flow, a person approves it in a browser, and the app
 * polls for an app password. Invariants:
 * - Only hashes of tokens are stored. A flow ends after 20 minutes, or one minute after the first
 *   poll that returned an app password.
 * - A sign-out deletes approved flows (`SignOut`). A poll locks the flow before it creates an app
 *   password, so no app password is created after the sign-out.
 * - The approval only marks the flow; the poll creates the app password. A repeated poll within a
 *   minute replaces the app password, since the response may be lost. If the app password was
 *   revoked meanwhile, the poll ends the flow.
 * - Above 10,000 open flows, a start deletes the oldest flows of the networks with the most open
 *   flows ({@link deleteExcessRowsByNetwork}).
 */
@Injectable()
export class LoginFlows {
  constructor(
    @InjectRepository(LoginEntity) private readonly logins: Repository<LoginEntity>,
    private readonly revocations: RevocationWriter,
    private readonly notices: Notices,
    @Inject(PEOPLE_CONFIG) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
  ) {}

  /**
   * Stores a new flow. Idempotent.
   *
   * @returns URL for polls, and URL of the approval page without the login token. The caller must
   *   append the token.
   */
  async startFlow(request: RequestOf<typeof beginLogin>): Promise<ReplyOf<typeof beginLogin>> {
    const { address, userAgent, server } = request;
    const [pollHash, loginHash] = [request.pollHash, request.loginHash].map((hash) =>
      Buffer.from(hash, 'base64url'),
    );
    const { manager } = this.logins;
    await manager.query(
      `INSERT INTO account.logins
         (poll_hash, login_hash, user_agent, address, network, server, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, now() + interval '20 minutes')
       ON CONFLICT DO NOTHING`,
      [pollHash, loginHash, userAgent, address, networkOf(address), server],
    );
    await deleteExcessRowsByNetwork(manager, openFlowLimit);
    const { PUBLIC_URL } = this.config;
    return { login: `${PUBLIC_URL}/login/v2/flow/`, endpoint: `${PUBLIC_URL}/login/v2/poll` };
  }

  /** Returns the flow of a login token; undefined if the flow is unknown, approved or expired. */
  async findOpenFlow(loginToken: string): Promise<LoginFlow | undefined> {
    const [flow] = await this.queryOpenFlow<{
      userAgent: string;
      address: string;
      createdAt: string;
    }>(
      loginToken,
      (condition) =>
        `SELECT user_agent AS "userAgent", address, created_at AS "createdAt"
         FROM account.logins WHERE ${condition}`,
    );
    if (!flow) return undefined;
    return {
      label: appLabel(flow.userAgent),
      address: flow.address,
      createdAt: new Date(flow.createdAt),
    };
  }

  /**
   * Approves an open flow for an account.
   *
   * @param session id of the browser's session.
   * @returns false if the flow is unknown, expired or already approved.
   * @throws Refusal `too_many` app passwords, `name_needed` if the account has no name,
   *   `credentials` if the session has ended.
   */
  async approve(loginToken: string, accountId: string, session?: string): Promise<boolean> {
    const hash = hashToken(loginToken);
    if (!hash) return false;
    return this.logins.manager.transaction(async (manager) => {
      await lockAndCheckAppPasswordLimit(manager, accountId, session);
      const approvedRows = await queryRows<{ name: string | null }>(
        manager,
        `UPDATE account.logins l SET account_id = a.id FROM account.accounts a
         WHERE l.login_hash = $1 AND l.account_id IS NULL AND l.expires_at > now()
           AND a.id = $2 AND a.disabled_at IS NULL RETURNING a.name`,
        [hash, accountId],
      );
      if (approvedRows[0]?.name === null) throw new Refusal('name_needed');
      return approvedRows.length === 1;
    });
  }

  /** Denies an open flow, by deleting it. @returns false if the token has no open flow. */
  async deny(loginToken: string): Promise<boolean> {
    const deletedRows = await this.queryOpenFlow(
      loginToken,
      (condition) => `DELETE FROM account.logins WHERE ${condition} RETURNING true`,
    );
    return deletedRows.length === 1;
  }

  /**
   * Creates and returns the app password of an approved flow. A repeated poll replaces the app
   * password. Returns `undefined` before the approval, after the expiry, and after the app password
   * was revoked.
   */
  async poll(pollToken: string): Promise<LoginResult | undefined> {
    const hash = hashToken(pollToken);
    if (!hash) return undefined;
    const pollOutcome = await this.logins.manager.transaction(async (manager) => {
      const flow = await lockApprovedFlow(manager, hash);
      if (!flow) return undefined;
      if (flow.credentialId) {
        const { affected } = await manager.delete(CredentialEntity, { id: flow.credentialId });
        if (!affected) {
          await manager.query('DELETE FROM account.logins WHERE poll_hash = $1', [hash]);
          return undefined;
        }
      }
      const { secret, credential } = await insertAppPassword(manager, flow.accountId, {
        label: appLabel(flow.userAgent),
        scopes,
        isApp: true,
      });
      // `answered_at` stays the time of the first response, so repeated polls extend no flow.
      await manager.query(
        `UPDATE account.logins SET credential_id = $2, answered_at = coalesce(answered_at, now()),
           expires_at = coalesce(answered_at, now()) + interval '1 minute' WHERE poll_hash = $1`,
        [hash, credential.id],
      );
      return { flow, secret };
    });
    if (!pollOutcome) return undefined;
    const { flow, secret } = pollOutcome;
    if (flow.credentialId)
      await this.revocations.revoke([{ kind: 'credential', id: flow.credentialId }]);
    else {
      const label = appLabel(flow.userAgent);
      await this.notices.addNotice(flow.accountId, 'app_password', flow, { label });
    }
    return { server: flow.server, loginName: flow.name, appPassword: secret };
  }

  /** Runs a statement on the open flow of a login token. Returns no rows if there is none. */
  private async queryOpenFlow<Row>(
    loginToken: string,
    buildStatement: (condition: string) => string,
  ): Promise<Row[]> {
    const hash = hashToken(loginToken);
    if (!hash) return [];
    const condition = 'login_hash = $1 AND account_id IS NULL AND expires_at > now()';
    return queryRows<Row>(this.logins.manager, buildStatement(condition), [hash]);
  }
}

interface ApprovedFlow {
  readonly accountId: string;
  /** IP address of the app that started the flow. */
  readonly address: string;
  /** Name of the account that approved the flow. */
  readonly name: string;
  readonly userAgent: string;
  readonly server: string;
  /** Id of the app password that the first poll created; null before. */
  readonly credentialId: string | null;
}

/**
 * Returns the approved flow of a poll token, and locks it until the transaction ends, so that only
 * one poll gets the app password. Returns undefined if the flow is not approved or has expired, or
 * its account is disabled.
 */
async function lockApprovedFlow(
  manager: EntityManager,
  pollHash: Buffer,
): Promise<ApprovedFlow | undefined> {
  const [flow] = await queryRows<ApprovedFlow>(
    manager,
    `SELECT l.account_id AS "accountId", a.name, l.address, l.user_agent AS "userAgent", l.server,
       l.credential_id AS "credentialId"
     FROM account.logins l JOIN account.accounts a ON a.id = l.account_id
     WHERE l.poll_hash = $1 AND l.expires_at > now() AND a.disabled_at IS NULL
       AND a.name IS NOT NULL
     FOR UPDATE OF l`,
    [pollHash],
  );
  return flow;
}
