import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type checkCredential, guidSchema, type ReplyOf, scopes as knownScopes } from '#contracts';
import { CredentialEntity } from '#database/typeorm';
import { makeAppPassword, RevocationWriter } from '#identity';
import type { EntityManager, Repository } from 'typeorm';
import { cleanLabel } from '../people/label.rules.js';
import { Notices } from '../people/notices.js';
import { Refusal } from '../people/refusal.js';
import { type ActingSession, lockSession } from '../people/sessions.js';
import { queryRows } from '../people/query-rows.js';

/** App password, as shown to its owner. */
export interface AppPassword {
  readonly id: string;
  readonly label: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** Time at which an app last used the app password, to the minute; `null` before. */
  readonly lastUsedAt: Date | null;
  /** Time of the expiry; `null` if the app password does not expire. */
  readonly expiresAt: Date | null;
  /** Time at which a sign-out suspended the app password; `null` if it is not suspended. */
  readonly suspendedAt: Date | null;
  /** True if a podcast app uses the app password; false if a script does. */
  readonly isApp: boolean;
}

/** Properties of a new app password; without `expiresAt` it does not expire. */
export interface NewAppPassword {
  readonly label: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: Date | undefined;
  readonly isApp?: boolean;
}

const maxAppPasswords = 100;
/** Maximum length of a label in UTF-16 code units, as browsers count it. */
const maxLabelLength = 64;

/**
 * Creates, lists, checks and revokes app passwords, for apps that cannot sign in by a browser. App
 * passwords grant no access to pages. Invariants:
 * - An app password is shown once; only its hash is stored.
 * - A revoked app password is deleted. Gateways that cached it are notified and reject it within a
 *   second; without a notification, within 60 s ({@link RevocationWriter.revoke}).
 * - An app password that a sign-out suspended (`SignOut`) is invalid until
 *   {@link restoreSuspended}.
 * - At the limit of 100 per account, a new app password replaces the expired ones. If none has
 *   expired, the new one is refused.
 */
@Injectable()
export class AppPasswords {
  constructor(
    @InjectRepository(CredentialEntity) private readonly credentials: Repository<CredentialEntity>,
    private readonly revocations: RevocationWriter,
    private readonly notices: Notices,
  ) {}

  /**
   * Creates an app password.
   *
   * @param by current session; undefined for the operator.
   * @returns the app password and its secret, which cannot be shown again.
   * @throws Refusal `label`, `scopes`, `expiry`, `too_many`; `credentials` if the session ended.
   */
  async create(
    accountId: string,
    properties: NewAppPassword,
    by?: ActingSession,
  ): Promise<{ secret: string; credential: AppPassword }> {
    const label = cleanLabel(properties.label);
    if (label === '' || properties.label.trim().length > maxLabelLength) throw new Refusal('label');
    const scopes = knownScopes.filter((scope) => properties.scopes.includes(scope));
    if (scopes.length === 0 || scopes.length < new Set(properties.scopes).size)
      throw new Refusal('scopes');
    if (properties.expiresAt && !(properties.expiresAt.getTime() > Date.now()))
      throw new Refusal('expiry');
    const newAppPassword = await this.credentials.manager.transaction(async (manager) => {
      await lockAndCheckAppPasswordLimit(manager, accountId, by?.id);
      return insertAppPassword(manager, accountId, { ...properties, label, scopes });
    });
    await this.notices.addNotice(accountId, 'app_password', by, { label });
    return newAppPassword;
  }

  /** Returns the app passwords of an account, also expired and suspended ones, newest first. */
  async list(accountId: string): Promise<AppPassword[]> {
    const rows = await this.credentials.find({
      where: { accountId },
      order: { createdAt: 'DESC', id: 'ASC' },
      take: maxAppPasswords * 2,
    });
    return rows.map(toAppPassword);
  }

  /**
   * Makes the chosen suspended app passwords valid again and deletes the other suspended ones.
   *
   * @param session id of the browser's session.
   * @throws Refusal `credentials` if the session has ended.
   */
  async restoreSuspended(
    accountId: string,
    ids: readonly string[],
    session: string,
  ): Promise<void> {
    await this.credentials.manager.transaction(async (manager) => {
      await lockAccountAndSession(manager, accountId, session);
      await manager.query(
        `WITH kept AS (
           UPDATE account.credentials SET suspended_at = NULL
           WHERE account_id = $1 AND suspended_at IS NOT NULL AND id::text = ANY ($2))
         DELETE FROM account.credentials
         WHERE account_id = $1 AND suspended_at IS NOT NULL AND id::text <> ALL ($2)`,
        [accountId, ids],
      );
    });
  }

  /** Revokes an app password. Idempotent. @returns true if the app password existed. */
  async revoke(accountId: string, id: string): Promise<boolean> {
    return guidSchema.safeParse(id).success && this.revokeMatching({ accountId, id });
  }

  /** Revokes an app password of any account. Idempotent. @returns true if it existed. */
  revokeById(id: string): Promise<boolean> {
    return this.revokeMatching({ id });
  }

  private async revokeMatching(criteria: { id: string; accountId?: string }): Promise<boolean> {
    const { affected } = await this.credentials.delete(criteria);
    if (affected) await this.revocations.revoke([{ kind: 'credential', id: criteria.id }]);
    return Boolean(affected);
  }

  /**
   * Returns owner and scopes of an app password, and records its use, at most once a minute.
   * Returns `null` for an unknown, expired or suspended app password, or a disabled account.
   *
   * @param hash SHA-256 of the app password (base64url).
   */
  async findAndRecordUse(hash: string): Promise<Credential | null> {
    const [row] = await queryRows<ValidAppPassword>(
      this.credentials.manager,
      `SELECT ${validAppPasswords.columns} FROM ${validAppPasswords.tables}
       WHERE c.hash = $1 AND ${validAppPasswords.condition}`,
      [Buffer.from(hash, 'base64url')],
    );
    return row ? recordAppPasswordUse(this.credentials.manager, row) : null;
  }
}

/** Owner, scopes and expiry of a valid app password. */
export type Credential = NonNullable<ReplyOf<typeof checkCredential>['credential']>;

/** Parts of a SELECT of valid app passwords (alias `c`), with rows {@link ValidAppPassword}. */
export const validAppPasswords = {
  columns: `c.id AS "credentialId", c.account_id AS "userId", coalesce(a.name, '') AS name,
    c.scopes, c.expires_at AS "expiresAt",
    coalesce(c.last_used_at < now() - interval '1 minute', true) AS "isUseOutdated"`,
  tables: 'account.credentials c JOIN account.accounts a ON a.id = c.account_id',
  condition: `(c.expires_at IS NULL OR c.expires_at > now()) AND c.suspended_at IS NULL
    AND a.disabled_at IS NULL`,
};

/** Row of {@link validAppPasswords}. `isUseOutdated`: no use was recorded in the last minute. */
export interface ValidAppPassword {
  readonly credentialId: string;
  readonly userId: string;
  readonly name: string;
  readonly scopes: string[];
  readonly expiresAt: string | null;
  readonly isUseOutdated: boolean;
}

/**
 * Returns the credential of an app password, and records its use, at most once a minute. Callers
 * cache the result for a minute, so most requests of an app neither read nor write here. If another
 * transaction has locked the row, the request does not wait and records no use.
 */
export async function recordAppPasswordUse(
  manager: EntityManager,
  row: ValidAppPassword,
): Promise<Credential> {
  const { credentialId, userId, name, scopes, expiresAt, isUseOutdated } = row;
  if (isUseOutdated)
    await manager.query(
      `UPDATE account.credentials SET last_used_at = now() WHERE id = (
         SELECT id FROM account.credentials
         WHERE id = $1 AND coalesce(last_used_at < now() - interval '1 minute', true)
         FOR NO KEY UPDATE SKIP LOCKED)`,
      [credentialId],
    );
  return { credentialId, userId, name, scopes, ...(expiresAt !== null && { expiresAt }) };
}

/** Locks the account, then the session. @throws Refusal `credentials` if the session ended. */
async function lockAccountAndSession(
  manager: EntityManager,
  accountId: string,
  session?: string,
): Promise<void> {
  await manager.query('SELECT 1 FROM account.accounts WHERE id = $1 FOR NO KEY UPDATE', [
    accountId,
  ]);
  await lockSession(manager, session);
}

/**
 * Locks the account and the session, and checks the number of app passwords. At the limit, first
 * deletes the expired ones. The lock of the account prevents concurrent additions.
 *
 * @throws Refusal `too_many`; `credentials` if the session has ended.
 */
export async function lockAndCheckAppPasswordLimit(
  manager: EntityManager,
  accountId: string,
  session?: string,
): Promise<void> {
  await lockAccountAndSession(manager, accountId, session);
  const isLimitReached = async () =>
    (await manager.countBy(CredentialEntity, { accountId })) >= maxAppPasswords;
  if (!(await isLimitReached())) return;
  await manager.query(
    'DELETE FROM account.credentials WHERE account_id = $1 AND expires_at <= now()',
    [accountId],
  );
  if (await isLimitReached()) throw new Refusal('too_many');
}

/** Inserts an app password within a transaction. The caller must have checked the limit. */
export async function insertAppPassword(
  manager: EntityManager,
  accountId: string,
  { label, scopes, expiresAt, isApp = false }: NewAppPassword,
) {
  const { secret, hash } = makeAppPassword();
  const id = randomUUID();
  await manager.insert(CredentialEntity, {
    id,
    accountId,
    hash: Buffer.from(hash, 'base64url'),
    label,
    scopes: [...scopes],
    expiresAt: expiresAt ?? null,
    isApp,
  });
  return {
    secret,
    credential: toAppPassword(await manager.findOneByOrFail(CredentialEntity, { id })),
  };
}

function toAppPassword({
  id,
  label,
  scopes,
  createdAt,
  lastUsedAt,
  expiresAt,
  suspendedAt,
  isApp,
}: CredentialEntity): AppPassword {
  return { id, label, scopes, createdAt, lastUsedAt, expiresAt, suspendedAt, isApp };
}
