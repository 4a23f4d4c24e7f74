import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LinkEntity } from '#database/typeorm';
import type { EntityManager, Repository } from 'typeorm';
import { PEOPLE_CONFIG, type PeopleConfig } from './people.config.js';
import { Refusal } from './refusal.js';
import { hashSecret, hashIfSecret, newSecret } from './secret-hash.js';
import { lockEnabledAccount, lockSession } from './sessions.js';
import { queryRows } from './query-rows.js';

/** Purpose of a link: first account, invitation, password reset or address verification. */
export type LinkKind = LinkEntity['kind'];

/** A stored link without its secret. */
export interface Link {
  readonly kind: LinkKind;
  /** Account of a `reset` or `verify` link; `null` for `first` and `invite`. */
  readonly accountId: string | null;
  /** Name of the link's account, or `null`. */
  readonly name: string | null;
  /** E-mail address that a `verify` link verifies; `null` for other kinds. */
  readonly email: string | null;
  readonly expiresAt: Date;
}

/** New link. Its `url` contains the secret. Postgres stores only the hash of the secret. */
export interface NewLink {
  readonly url: string;
  readonly expiresAt: Date;
}

const minutesPerDay = 24 * 60;
/** Default lifetimes of links in minutes, by kind. */
const lifetimeMinutes: Record<LinkKind, number> = {
  first: 7 * minutesPerDay,
  invite: 7 * minutesPerDay,
  reset: 60,
  verify: minutesPerDay,
};

/** Maximum links of one kind per account. A further link replaces the oldest. */
const maxLinksPerAccount = 5;
/**
 * Maximum links of one kind without an account (`first`, `invite`). A further link replaces the
 * oldest.
 */
const maxLinksWithoutAccount = 1_000;

/**
 * One-time links that grant a right: create an account, set a new password, verify an address.
 * Invariants:
 * - Opening a link changes nothing. {@link consumeLink} deletes the link, in the transaction of the
 *   change that the link allows.
 * - Only the hash of the secret is stored. The number of links per account is limited.
 */
@Injectable()
export class Links {
  constructor(
    @InjectRepository(LinkEntity) private readonly links: Repository<LinkEntity>,
    @Inject(PEOPLE_CONFIG) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
  ) {}

  /**
   * Creates a link `<origin>/links/<secret>`, which a page reads by {@link readLink}.
   *
   * @param properties account and e-mail address of the link; `session` is the id of the browser
   *   session that requests the link, or undefined without one.
   * @throws Refusal `link` if the account is disabled or missing; `credentials` if the session has
   *   ended.
   */
  async createLink(
    kind: LinkKind,
    properties: {
      accountId?: string;
      name?: string;
      email?: string;
      session?: string | undefined;
    } = {},
    minutesValid = lifetimeMinutes[kind],
  ): Promise<NewLink> {
    const secret = newSecret();
    const { accountId = null, name = null, email = null } = properties;
    const expiresAt = await this.links.manager.transaction(async (manager) => {
      // A concurrent disabling waits for this lock, and then also deletes the new link.
      if (accountId !== null && !(await lockEnabledAccount(manager, accountId)))
        throw new Refusal('link');
      await lockSession(manager, properties.session);
      const [row] = await queryRows<{ expiresAt: string }>(
        manager,
        `INSERT INTO account.links (hash, kind, account_id, name, email, expires_at)
         VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 minute')
         RETURNING expires_at AS "expiresAt"`,
        [hashSecret(secret), kind, accountId, name, email, minutesValid],
      );
      await manager.query(
        // A link without account has no account row to lock first, so SKIP LOCKED avoids deadlocks.
        `DELETE FROM account.links WHERE hash IN (
           SELECT hash FROM account.links WHERE hash IN (
             SELECT hash FROM account.links
             WHERE kind = $1 AND account_id IS NOT DISTINCT FROM $2::uuid
             ORDER BY created_at DESC, hash OFFSET $3)
           FOR UPDATE SKIP LOCKED)`,
        [kind, accountId, accountId === null ? maxLinksWithoutAccount : maxLinksPerAccount],
      );
      return new Date((row as { expiresAt: string }).expiresAt);
    });
    return { url: `${this.config.PUBLIC_URL}/links/${secret}`, expiresAt };
  }

  /**
   * Returns the content of a link without deleting it. Returns `undefined` if the link was used, is
   * expired or unknown, or its account is disabled.
   */
  async readLink(secret: string): Promise<Link | undefined> {
    const hash = hashIfSecret(secret);
    if (!hash) return undefined;
    const [row] = await queryRows<Link>(
      this.links.manager,
      `SELECT l.kind, l.account_id AS "accountId", coalesce(a.name, l.name) AS name, l.email,
         l.expires_at AS "expiresAt"
       FROM account.links l LEFT JOIN account.accounts a ON a.id = l.account_id
       WHERE l.hash = $1 AND l.expires_at > now() AND a.disabled_at IS NULL
         AND (l.kind IN ('first', 'invite') OR a.id IS NOT NULL)`,
      [hash],
    );
    return row && { ...row, expiresAt: new Date(row.expiresAt) };
  }

  /**
   * Deletes a link within the caller's transaction, and returns its content. Returns `undefined` if
   * the link was used, is expired, unknown or of another kind, or its account is disabled.
   */
  async consumeLink(
    manager: EntityManager,
    secret: string,
    kind: LinkKind,
  ): Promise<Omit<Link, 'expiresAt'> | undefined> {
    const hash = hashIfSecret(secret);
    if (!hash) return undefined;
    const [owner] = await queryRows<{ id: string | null }>(
      manager,
      'SELECT account_id AS id FROM account.links WHERE hash = $1 AND kind = $2',
      [hash, kind],
    );
    // Lock order: the account before its links, as in a sign-out.
    if (!owner) return undefined;
    if (owner.id !== null && !(await lockEnabledAccount(manager, owner.id))) return undefined;
    const [link] = await queryRows<Omit<Link, 'expiresAt'>>(
      manager,
      `DELETE FROM account.links WHERE hash = $1 AND kind = $2 AND expires_at > now()
       RETURNING kind, account_id AS "accountId", name, email`,
      [hash, kind],
    );
    return link;
  }
}
