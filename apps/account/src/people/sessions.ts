import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { guidSchema } from '#contracts';
import { SessionEntity } from '#database/typeorm';
import { RevocationWriter } from '#identity';
import type { EntityManager, Repository } from 'typeorm';
import { Refusal } from './refusal.js';
import { hashIfSecret, hashSecret, newSecret } from './secret-hash.js';
import { queryRows } from './query-rows.js';

/** Session of a signed-in browser. */
export interface Session {
  readonly id: string;
  readonly accountId: string;
  readonly createdAt: Date;
  /** Time of the last sign-in in this session, by password, passkey or OpenID provider. */
  readonly authenticatedAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  /** IP address of the browser at the last sign-in. */
  readonly address: string;
  readonly userAgent: string;
}

/** New or renewed session. */
export interface NewSession {
  readonly id: string;
  readonly accountId: string;
  /** Value of the session cookie. Postgres stores only its hash. */
  readonly cookie: string;
}

/** Client that sent a request: its IP address and user agent. */
export interface Visitor {
  readonly address: string;
  readonly userAgent: string;
}

/** Browser of a sign-in: IP address, user agent and cookies. */
export interface Browser extends Visitor {
  /** Value of the session cookie; undefined if the browser sent none. */
  readonly session?: string | undefined;
  /** Value of the device cookie of an earlier sign-in; undefined if the browser sent none. */
  readonly device?: string | undefined;
}

/** Session in which a person changes an account. The notice of the change shows its client. */
export type ActingSession = Pick<Session, 'id' | 'address' | 'userAgent'>;

/** Maximum sessions per account. A further one replaces the least recently used session. */
const maxSessionsPerAccount = 100;

const sessionColumns = `s.id, s.account_id AS "accountId", s.created_at AS "createdAt",
  s.authenticated_at AS "authenticatedAt", s.last_used_at AS "lastUsedAt",
  s.expires_at AS "expiresAt", s.address, s.user_agent AS "userAgent"`;

/**
 * Browser sessions. Invariants:
 * - Only the hash of a cookie's value is stored. Each sign-in replaces the value.
 * - A session ends 30 days after its last use, 365 days after its start, or by a sign-out.
 * - An ended session is invalid on all replicas after the commit. Gateways are then notified, and
 *   reject the tokens that the console got in the session.
 */
@Injectable()
export class Sessions {
  constructor(
    @InjectRepository(SessionEntity) private readonly sessions: Repository<SessionEntity>,
    private readonly revocations: RevocationWriter,
  ) {}

  /**
   * Starts a session with a new cookie value. If the browser's old `cookie` has a valid session of
   * the same account, renews that session. A session of another account ends.
   *
   * @param verifiedHash password hash (PHC string) that was verified; null or undefined for none.
   * @param runBeforeStart runs while the account is locked. If it fails, no session starts.
   * @throws Refusal `credentials` if the account is disabled or its password has changed.
   */
  async startSession(
    accountId: string,
    visitor: Visitor,
    cookie = '',
    verifiedHash?: string | null,
    runBeforeStart?: (manager: EntityManager) => Promise<void>,
  ): Promise<NewSession> {
    const [newCookie, oldCookieHash] = [newSecret(), hashIfSecret(cookie)];
    const { address, userAgent } = {
      address: visitor.address.slice(0, 64),
      userAgent: visitor.userAgent.slice(0, 400),
    };
    const { session, excessSessions } = await this.sessions.manager.transaction(async (manager) => {
      await lockAccountForSignIn(manager, accountId, verifiedHash ?? null);
      await runBeforeStart?.(manager);
      const newValues = { cookieHash: hashSecret(newCookie), accountId, address, userAgent };
      const renewedSession =
        oldCookieHash && (await renewSession(manager, oldCookieHash, newValues));
      if (renewedSession) return { session: renewedSession };
      return {
        session: await insertSession(manager, newValues),
        excessSessions: await deleteExcessSessions(manager, newValues),
      };
    });
    if (excessSessions) {
      if (cookie) await this.endByCookie(cookie);
      await this.notifyGateways(excessSessions);
    }
    return { accountId, cookie: newCookie, ...session };
  }

  /**
   * Returns the session of a cookie, and records its use at most once an hour. Returns
   * undefined if the session has ended or its account is disabled.
   */
  async findAndRecordUse(cookie: string): Promise<Session | undefined> {
    const cookieHash = hashIfSecret(cookie);
    if (!cookieHash) return undefined;
    const [session] = await this.queryRows<Session & { stale: boolean }>(
      `SELECT ${sessionColumns}, s.last_used_at < now() - interval '1 hour' AS stale
       FROM account.sessions s JOIN account.accounts a ON a.id = s.account_id
       WHERE s.hash = $1 AND s.expires_at > now() AND a.disabled_at IS NULL`,
      [cookieHash],
    );
    if (!session) return undefined;
    const { stale, ...row } = session;
    if (stale) await this.recordUse(cookieHash);
    return parseDates(row);
  }

  /** Returns the valid sessions of an account, most recently used first. */
  async listValid(accountId: string): Promise<Session[]> {
    const sessions = await this.queryRows<Session>(
      `SELECT ${sessionColumns} FROM account.sessions s
       WHERE s.account_id = $1 AND s.expires_at > now()
       ORDER BY s.last_used_at DESC, s.id LIMIT $2`,
      [accountId, maxSessionsPerAccount],
    );
    return sessions.map(parseDates);
  }

  /** Ends one session of an account. @returns true if the session existed. */
  async endSession(accountId: string, id: string): Promise<boolean> {
    if (!guidSchema.safeParse(id).success) return false;
    const { affected } = await this.sessions.delete({ accountId, id });
    if (affected) await this.notifyGateways([{ id }]);
    return Boolean(affected);
  }

  /** Ends all sessions of an account except one. @param kept id of the session that stays. */
  async endOthers(accountId: string, kept: string): Promise<void> {
    const endedSessions = await this.queryRows<{ id: string }>(
      `WITH locked_account AS (SELECT id FROM account.accounts WHERE id = $1 FOR NO KEY UPDATE)
       DELETE FROM account.sessions s USING locked_account
       WHERE s.account_id = locked_account.id AND s.id <> $2 RETURNING s.id`,
      [accountId, kept],
    );
    await this.notifyGateways(endedSessions);
  }

  /** Ends the session of a cookie. @returns its id; undefined if it did not exist. */
  async endByCookie(cookie: string): Promise<string | undefined> {
    const cookieHash = hashIfSecret(cookie);
    if (!cookieHash) return undefined;
    const [endedSession] = await this.queryRows<{ id: string }>(
      'DELETE FROM account.sessions WHERE hash = $1 RETURNING id',
      [cookieHash],
    );
    if (endedSession) await this.notifyGateways([endedSession]);
    return endedSession?.id;
  }

  private async notifyGateways(endedSessions: readonly { readonly id: string }[]): Promise<void> {
    await this.revocations.revoke(endedSessions.map(({ id }) => ({ kind: 'session', id })));
  }

  /** Records the use of a session, at most once an hour. */
  private async recordUse(cookieHash: Buffer): Promise<void> {
    await this.sessions.query(
      `UPDATE account.sessions SET last_used_at = now(),
         expires_at = least(created_at + interval '365 days', now() + interval '30 days')
       WHERE hash = $1 AND last_used_at < now() - interval '1 hour'`,
      [cookieHash],
    );
  }

  private queryRows<Row>(statement: string, values: unknown[]): Promise<Row[]> {
    return queryRows<Row>(this.sessions.manager, statement, values);
  }
}

/**
 * Records the sign-in, and locks the account until the transaction ends. A concurrent disabling or
 * password change waits for the lock, and then also ends the session that this transaction starts.
 *
 * @param verifiedHash password hash that the account must still have; null for any.
 * @throws Refusal `credentials` if the account is disabled or its password has changed.
 */
async function lockAccountForSignIn(
  manager: EntityManager,
  accountId: string,
  verifiedHash: string | null,
): Promise<void> {
  const rows = await queryRows(
    manager,
    `UPDATE account.accounts SET signed_in_at = now()
     WHERE id = $1 AND disabled_at IS NULL AND ($2::text IS NULL OR password = $2)
     RETURNING 1`,
    [accountId, verifiedHash],
  );
  if (rows.length === 0) throw new Refusal('credentials');
}

/**
 * Locks a session until the transaction ends. A concurrent sign-out then either waits and ends the
 * access that this transaction adds, or commits first and makes this call fail. Lock the account
 * before the session (`SignOut`).
 *
 * @param id of the session; undefined for commands of the operator, which need no session.
 * @throws Refusal `credentials` if the session has ended.
 */
export async function lockSession(manager: EntityManager, id: string | undefined): Promise<void> {
  if (id === undefined) return;
  const rows = await queryRows(
    manager,
    'SELECT 1 FROM account.sessions WHERE id = $1 AND expires_at > now() FOR KEY SHARE',
    [id],
  );
  if (rows.length === 0) throw new Refusal('credentials');
}

/** Locks an account until the transaction ends. @returns true if it exists and is not disabled. */
export async function lockEnabledAccount(manager: EntityManager, id: string): Promise<boolean> {
  const rows = await queryRows(
    manager,
    'SELECT 1 FROM account.accounts WHERE id = $1 AND disabled_at IS NULL FOR NO KEY UPDATE',
    [id],
  );
  return rows.length === 1;
}

/** Values of a new or renewed session. */
interface SessionValues extends Visitor {
  readonly cookieHash: Buffer;
  readonly accountId: string;
}

/** Renews the session of a cookie. Returns undefined if the account has no valid one. */
async function renewSession(
  manager: EntityManager,
  oldCookieHash: Buffer,
  { cookieHash, accountId, address, userAgent }: SessionValues,
) {
  const [session] = await queryRows<{ id: string }>(
    manager,
    `UPDATE account.sessions
     SET hash = $2, authenticated_at = now(), last_used_at = now(), address = $4, user_agent = $5,
       expires_at = least(created_at + interval '365 days', now() + interval '30 days')
     WHERE hash = $1 AND account_id = $3 AND expires_at > now()
     RETURNING id`,
    [oldCookieHash, cookieHash, accountId, address, userAgent],
  );
  return session;
}

async function insertSession(
  manager: EntityManager,
  { cookieHash, accountId, address, userAgent }: SessionValues,
) {
  const id = randomUUID();
  await manager.query(
    `INSERT INTO account.sessions (hash, id, account_id, expires_at, address, user_agent)
     VALUES ($1, $2, $3, now() + interval '30 days', $4, $5)`,
    [cookieHash, id, accountId, address, userAgent],
  );
  return { id };
}

/** Deletes the least recently used sessions above the limit, and returns their ids. */
function deleteExcessSessions(manager: EntityManager, { accountId }: SessionValues) {
  return queryRows<{ id: string }>(
    manager,
    `DELETE FROM account.sessions WHERE account_id = $1 AND id IN (
       SELECT id FROM account.sessions WHERE account_id = $1
       ORDER BY last_used_at DESC, id OFFSET $2) RETURNING id`,
    [accountId, maxSessionsPerAccount],
  );
}

/** Replaces the timestamps of a row, which are ISO strings, by dates. */
function parseDates(session: Session): Session {
  const { createdAt, authenticatedAt, lastUsedAt, expiresAt } = session;
  const toDate = (timestamp: Date) => new Date(timestamp);
  return {
    ...session,
    createdAt: toDate(createdAt),
    authenticatedAt: toDate(authenticatedAt),
    lastUsedAt: toDate(lastUsedAt),
    expiresAt: toDate(expiresAt),
  };
}
