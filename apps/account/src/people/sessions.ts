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
  /** Time of the last sign-in in this session, by password, code or provider. */
  readonly authenticatedAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly address: string;
  readonly userAgent: string;
}

/** New or renewed session with the value of its cookie, of which only the hash is stored. */
export interface NewSession {
  readonly id: string;
  readonly accountId: string;
  readonly cookie: string;
}

/** Client that sent a request: its IP address and user agent. */
export interface Visitor {
  readonly address: string;
  readonly userAgent: string;
}

/** Browser of a sign-in: IP address, user agent and cookies. */
export interface Browser extends Visitor {
  /** Session cookie, if the browser has one. */
  readonly session?: string | undefined;
  /** Device cookie of a browser that signed in before. */
  readonly device?: string | undefined;
}

/** Session in which a person changes an account; a notice about the change names its client. */
export type ActingSession = Pick<Session, 'id' | 'address' | 'userAgent'>;

/** Maximum number of sessions per account; the least recently used ones are deleted. */
const maxSessionsPerAccount = 100;

const sessionColumns = `s.id, s.account_id AS "accountId", s.created_at AS "createdAt",
  s.authenticated_at AS "authenticatedAt", s.last_used_at AS "lastUsedAt",
  s.expires_at AS "expiresAt", s.address, s.user_agent AS "userAgent"`;

/**
 * Browser sessions. Invariants:
 * - Only the hash of a cookie's value is stored. Each sign-in replaces the value.
 * - A session ends 30 days after its last use, 365 days after its start, or with its account.
 * - An ended session is invalid on all replicas with the commit. Gateways are then notified to
 *   reject the console's tokens of the session.
 */
@Injectable()
export class Sessions {
  constructor(
    @InjectRepository(SessionEntity) private readonly sessions: Repository<SessionEntity>,
    private readonly revocations: RevocationWriter,
  ) {}

  /**
   * Starts a session with a new cookie value. If the session of the browser's old `cookie` belongs
   * to the account, renews that session; a session of another account ends.
   *
   * @param password PHC string that was verified; the account must still have it.
   * @param prove runs in the transaction, while the account is locked; a failure starts no session.
   * @throws Refusal `credentials` if the account is disabled or its password has changed.
   */
  async startSession(
    accountId: string,
    visitor: Visitor,
    cookie = '',
    password?: string | null,
    prove?: (manager: EntityManager) => Promise<void>,
  ): Promise<NewSession> {
    const [secret, oldHash] = [newSecret(), hashIfSecret(cookie)];
    const { address, userAgent } = {
      address: visitor.address.slice(0, 64),
      userAgent: visitor.userAgent.slice(0, 400),
    };
    const session = { accountId, cookie: secret };
    const { started, excess } = await this.sessions.manager.transaction(async (manager) => {
      await lockAccountForSignIn(manager, accountId, password ?? null);
      await prove?.(manager);
      const by = { hash: hashSecret(secret), accountId, address, userAgent };
      const renewal = oldHash && (await renewSession(manager, oldHash, by));
      if (renewal) return { started: renewal };
      return {
        started: await insertSession(manager, by),
        excess: await deleteExcessSessions(manager, by),
      };
    });
    if (excess) {
      if (cookie) await this.endByCookie(cookie);
      await this.notifyEnded(excess);
    }
    return { ...session, ...started };
  }

  /**
   * Returns the session of a cookie, and records its use at most once an hour. Undefined if the
   * session has ended or the account is disabled.
   */
  async findAndRecordUse(cookie: string): Promise<Session | undefined> {
    const hash = hashIfSecret(cookie);
    if (!hash) return undefined;
    const [session] = await this.queryRows<Session & { stale: boolean }>(
      `SELECT ${sessionColumns}, s.last_used_at < now() - interval '1 hour' AS stale
       FROM account.sessions s JOIN account.accounts a ON a.id = s.account_id
       WHERE s.hash = $1 AND s.expires_at > now() AND a.disabled_at IS NULL`,
      [hash],
    );
    if (!session) return undefined;
    const { stale, ...found } = session;
    if (stale) await this.recordUse(hash);
    return parseDates(found);
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

  /** Ends one session of an account. @returns true if it existed. */
  async endSession(accountId: string, id: string): Promise<boolean> {
    if (!guidSchema.safeParse(id).success) return false;
    const { affected } = await this.sessions.delete({ accountId, id });
    if (affected) await this.notifyEnded([{ id }]);
    return Boolean(affected);
  }

  /** Ends all sessions of an account except one. @param kept id of the session that stays. */
  async endOthers(accountId: string, kept: string): Promise<void> {
    const ended = await this.queryRows<{ id: string }>(
      `WITH locked_account AS (SELECT id FROM account.accounts WHERE id = $1 FOR NO KEY UPDATE)
       DELETE FROM account.sessions s USING locked_account
       WHERE s.account_id = locked_account.id AND s.id <> $2 RETURNING s.id`,
      [accountId, kept],
    );
    await this.notifyEnded(ended);
  }

  /** Ends the session of a cookie. @returns the id of the session, if it existed. */
  async endByCookie(cookie: string): Promise<string | undefined> {
    const hash = hashIfSecret(cookie);
    if (!hash) return undefined;
    const [ended] = await this.queryRows<{ id: string }>(
      'DELETE FROM account.sessions WHERE hash = $1 RETURNING id',
      [hash],
    );
    if (ended) await this.notifyEnded([ended]);
    return ended?.id;
  }

  private async notifyEnded(ended: readonly { readonly id: string }[]): Promise<void> {
    await this.revocations.revoke(ended.map(({ id }) => ({ kind: 'session', id })));
  }

  /** Records the use of a session, at most once an hour. */
  private async recordUse(hash: Buffer): Promise<void> {
    await this.sessions.query(
      `UPDATE account.sessions SET last_used_at = now(),
         expires_at = least(created_at + interval '365 days', now() + interval '30 days')
       WHERE hash = $1 AND last_used_at < now() - interval '1 hour'`,
      [hash],
    );
  }

  private queryRows<Row>(statement: string, values: unknown[]): Promise<Row[]> {
    return queryRows<Row>(this.sessions.manager, statement, values);
  }
}

/**
 * Records the sign-in, and locks the account against disabling, password changes and other sign-ins
 * until the transaction ends. Disabling and a new password then also end the session that this
 * transaction creates.
 *
 * @throws Refusal `credentials` if the account is disabled or its password has changed.
 */
async function lockAccountForSignIn(
  manager: EntityManager,
  accountId: string,
  password: string | null,
): Promise<void> {
  const rows = await queryRows(
    manager,
    `UPDATE account.accounts SET signed_in_at = now()
     WHERE id = $1 AND disabled_at IS NULL AND ($2::text IS NULL OR password = $2)
     RETURNING 1`,
    [accountId, password],
  );
  if (rows.length === 0) throw new Refusal('credentials');
}

/**
 * Locks a session until the transaction ends. A concurrent sign-out then either waits and ends the
 * access that this transaction adds, or commits first and makes this call fail. Lock the account
 * before the session (`SignOut`).
 *
 * @param id the session; undefined for commands of the operator.
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

interface SessionStart extends Visitor {
  readonly hash: Buffer;
  readonly accountId: string;
}

/**
 * Replaces the cookie of a valid session, and renews its time of sign-in and its expiry. Returns
 * undefined if the old cookie has no valid session.
 */
async function renewSession(
  manager: EntityManager,
  oldHash: Buffer,
  { hash, accountId, address, userAgent }: SessionStart,
) {
  const [renewed] = await queryRows<{ id: string }>(
    manager,
    `UPDATE account.sessions
     SET hash = $2, authenticated_at = now(), last_used_at = now(), address = $4, user_agent = $5,
       expires_at = least(created_at + interval '365 days', now() + interval '30 days')
     WHERE hash = $1 AND account_id = $3 AND expires_at > now()
     RETURNING id`,
    [oldHash, hash, accountId, address, userAgent],
  );
  return renewed;
}

async function insertSession(
  manager: EntityManager,
  { hash, accountId, address, userAgent }: SessionStart,
) {
  const id = randomUUID();
  await manager.query(
    `INSERT INTO account.sessions (hash, id, account_id, expires_at, address, user_agent)
     VALUES ($1, $2, $3, now() + interval '30 days', $4, $5)`,
    [hash, id, accountId, address, userAgent],
  );
  return { id };
}

/** Deletes the least recently used sessions above the limit, and returns their ids. */
function deleteExcessSessions(manager: EntityManager, { accountId }: SessionStart) {
  return queryRows<{ id: string }>(
    manager,
    `DELETE FROM account.sessions WHERE account_id = $1 AND id IN (
       SELECT id FROM account.sessions WHERE account_id = $1
       ORDER BY last_used_at DESC, id OFFSET $2) RETURNING id`,
    [accountId, maxSessionsPerAccount],
  );
}

function parseDates(session: Session): Session {
  const { createdAt, authenticatedAt, lastUsedAt, expiresAt } = session;
  const date = (stamp: Date) => new Date(stamp);
  return {
    ...session,
    createdAt: date(createdAt),
    authenticatedAt: date(authenticatedAt),
    lastUsedAt: date(lastUsedAt),
    expiresAt: date(expiresAt),
  };
}
