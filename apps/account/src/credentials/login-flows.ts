import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type beginLogin, type ReplyOf, type RequestOf, scopes } from '#contracts';
import { CredentialEntity, LoginEntity } from '#database';
import { networkOf } from '#identity';
import type { EntityManager, Repository } from 'typeorm';
import { PEOPLE, type PeopleConfig } from '../people/people.config.js';
import { Refusal } from '../people/refusal.js';
import { RevocationNotice } from '../people/revocation.notice.js';
import { hashOf } from '../people/secret.hash.js';
import { rowsOf } from '../people/statement.rows.js';
import { labelOf } from '../people/label.rule.js';
import { issue, lockFree } from './app-passwords.js';

/** An app that waits to be let in. */
export interface LoginFlow {
  /** What the app calls itself, which also names its app password. */
  readonly label: string;
  /** Where the app asked from, and when. */
  readonly address: string;
  readonly createdAt: Date;
}

/** What the app gets in the end, in the words of Nextcloud. */
export interface LoginAnswer {
  readonly server: string;
  readonly loginName: string;
  readonly appPassword: string;
}

/** How many may be open: of one network, and in all. */
const mostOfNetwork = 10;
const mostInAll = 10_000;

/** Held by whoever begins a flow, so that the numbers are kept. */
const beginLock = 7_146_002;

/** Both tokens: long enough not to be guessed, and not longer than they have to be. */
const tokenPattern = /^[\w-]{22,256}$/;

const hashOfToken = (token: string) => (tokenPattern.test(token) ? hashOf(token) : undefined);

/**
 * Nextcloud's login flow (v2): an app begins it, a person allows it in a browser, and the app fetches an app password.
 *
 * Invariants:
 * - Tokens are kept as hashes; a flow lives for 20 minutes, and for a minute after its answer.
 * - Allowing marks the flow; the app password is made by the poll that gets it. A repeat within a minute replaces it, as
 *   the answer may have been lost; after that the flow has no answer any more.
 * - There are never more flows than the limits say.
 */
@Injectable()
export class LoginFlows {
  constructor(
    @InjectRepository(LoginEntity) private readonly logins: Repository<LoginEntity>,
    private readonly revocations: RevocationNotice,
    @Inject(PEOPLE) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
  ) {}

  /**
   * Begins a flow; the same one twice is one. Where too many of a network wait it says when one of them ends by itself.
   *
   * @throws Refusal `busy` where too many wait in all.
   */
  async begin(request: RequestOf<typeof beginLogin>): Promise<ReplyOf<typeof beginLogin>> {
    const { address, userAgent, server } = request;
    const [pollHash, loginHash] = [request.pollHash, request.loginHash].map((hash) => Buffer.from(hash, 'base64url'));
    const retryAfter = await this.logins.manager.transaction(async (manager) => {
      await manager.query('SELECT pg_advisory_xact_lock($1)', [beginLock]);
      const [open] = await rowsOf<{ network: number; ends: number; all: number; known: boolean }>(
        manager,
        `SELECT count(*) FILTER (WHERE network = $1) AS network, count(*) AS all,
           coalesce(bool_or(poll_hash = $2), false) AS known,
           ceil(extract(epoch FROM min(expires_at) FILTER (WHERE network = $1) - now()))::integer AS ends
         FROM account.logins WHERE expires_at > now()`,
        [networkOf(address), pollHash],
      );
      const { network = 0, ends = 1, all = 0, known = false } = open ?? {};
      if (known) return undefined;
      if (network >= mostOfNetwork) return Math.max(ends, 1);
      if (all >= mostInAll) throw new Refusal('busy');
      await manager.query(
        `INSERT INTO account.logins (poll_hash, login_hash, user_agent, address, network, server, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, now() + interval '20 minutes')`,
        [pollHash, loginHash, userAgent, address, networkOf(address), server],
      );
      return undefined;
    });
    if (retryAfter !== undefined) return { retryAfter };
    const { PUBLIC_URL } = this.config;
    return { login: `${PUBLIC_URL}/login/v2/flow/`, endpoint: `${PUBLIC_URL}/login/v2/poll` };
  }

  /** The flow that a browser was sent to, while it waits. */
  async find(loginToken: string): Promise<LoginFlow | undefined> {
    const [found] = await this.waiting<{ userAgent: string; address: string; createdAt: string }>(
      loginToken,
      (condition) =>
        `SELECT user_agent AS "userAgent", address, created_at AS "createdAt" FROM account.logins WHERE ${condition}`,
    );
    if (!found) return undefined;
    return { label: labelFor(found.userAgent), address: found.address, createdAt: new Date(found.createdAt) };
  }

  /**
   * Lets the app in, as this person.
   *
   * @returns false where nothing waits any more.
   * @throws Refusal `too_many` app passwords, `name_needed` where the person has not chosen a name.
   */
  async allow(loginToken: string, accountId: string): Promise<boolean> {
    const hash = hashOfToken(loginToken);
    if (!hash) return false;
    return this.logins.manager.transaction(async (manager) => {
      await lockFree(manager, accountId);
      const allowed = await rowsOf<{ name: string | null }>(
        manager,
        `UPDATE account.logins l SET account_id = a.id FROM account.accounts a
         WHERE l.login_hash = $1 AND l.account_id IS NULL AND l.expires_at > now()
           AND a.id = $2 AND a.disabled_at IS NULL RETURNING a.name`,
        [hash, accountId],
      );
      if (allowed[0]?.name === null) throw new Refusal('name_needed');
      return allowed.length === 1;
    });
  }

  /** Ends a flow that waits. @returns whether there was one. */
  async deny(loginToken: string): Promise<boolean> {
    const gone = await this.waiting(
      loginToken,
      (condition) => `DELETE FROM account.logins WHERE ${condition} RETURNING true`,
    );
    return gone.length === 1;
  }

  /** What the app gets; `undefined` before it was allowed, and once it has it. */
  async poll(pollToken: string): Promise<LoginAnswer | undefined> {
    const hash = hashOfToken(pollToken);
    if (!hash) return undefined;
    const answer = await this.logins.manager.transaction(async (manager) => {
      const flow = await allowedFlow(manager, hash);
      if (!flow) return undefined;
      if (flow.credentialId) await manager.delete(CredentialEntity, { id: flow.credentialId });
      const made = await issue(manager, flow.accountId, { label: labelFor(flow.userAgent), scopes });
      // The time of the first answer stands, so that repeats do not prolong it.
      await manager.query(
        `UPDATE account.logins SET credential_id = $2, answered_at = coalesce(answered_at, now()),
           expires_at = coalesce(answered_at, now()) + interval '1 minute' WHERE poll_hash = $1`,
        [hash, made.credential.id],
      );
      return { flow, secret: made.secret };
    });
    if (!answer) return undefined;
    const { flow, secret } = answer;
    if (flow.credentialId) await this.revocations.give([{ kind: 'credential', id: flow.credentialId }]);
    return { server: flow.server, loginName: flow.name, appPassword: secret };
  }

  private async waiting<Row>(loginToken: string, statement: (condition: string) => string): Promise<Row[]> {
    const hash = hashOfToken(loginToken);
    if (!hash) return [];
    const condition = 'login_hash = $1 AND account_id IS NULL AND expires_at > now()';
    return rowsOf<Row>(this.logins.manager, statement(condition), [hash]);
  }
}

interface AllowedFlow {
  readonly accountId: string;
  readonly name: string;
  readonly userAgent: string;
  readonly server: string;
  /** Made by an earlier poll. */
  readonly credentialId: string | null;
}

/** The flow, while somebody who may has allowed it, held against other polls until the transaction's end. */
async function allowedFlow(manager: EntityManager, pollHash: Buffer): Promise<AllowedFlow | undefined> {
  const [flow] = await rowsOf<AllowedFlow>(
    manager,
    `SELECT l.account_id AS "accountId", a.name, l.user_agent AS "userAgent", l.server, l.credential_id AS "credentialId"
     FROM account.logins l JOIN account.accounts a ON a.id = l.account_id
     WHERE l.poll_hash = $1 AND l.expires_at > now() AND a.disabled_at IS NULL AND a.name IS NOT NULL
     FOR UPDATE OF l`,
    [pollHash],
  );
  return flow;
}

function labelFor(userAgent: string): string {
  return labelOf(userAgent) || 'App';
}
