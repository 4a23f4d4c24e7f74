import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LinkEntity } from '#database';
import type { EntityManager, Repository } from 'typeorm';
import { PEOPLE, type PeopleConfig } from './people.config.js';
import { Refusal } from './refusal.js';
import { hashOf, hashOfSecret, newSecret } from './secret.hash.js';
import { holdSession } from './sessions.js';
import { rowsOf } from './statement.rows.js';

export type LinkKind = LinkEntity['kind'];

/** Content of a link. */
export interface Link {
  readonly kind: LinkKind;
  /** Account of a password reset or address verification, and its name. */
  readonly accountId: string | null;
  readonly name: string | null;
  readonly email: string | null;
  readonly expiresAt: Date;
}

/** New link. Its `url` contains the secret, which is not stored. */
export interface NewLink {
  readonly url: string;
  readonly expiresAt: Date;
}

const day = 24 * 60;
/** Lifetimes in minutes. The operator passes a longer one for the `reset` of a new account. */
const minutes: Record<LinkKind, number> = {
  first: 7 * day,
  invite: 7 * day,
  reset: 60,
  verify: day,
};

/** Maximum number of links per kind, with and without an account; the oldest are deleted. */
const mostOfAccount = 5;
const mostOfNobody = 1_000;

/**
 * One-time links that grant a right: create an account, set a new password, verify an address.
 * Invariants:
 * - Opening a link changes nothing. {@link take} spends it once, in the transaction that uses it.
 * - Only the hash of the secret is stored. The number of links per account is limited.
 */
@Injectable()
export class Links {
  constructor(
    @InjectRepository(LinkEntity) private readonly links: Repository<LinkEntity>,
    @Inject(PEOPLE) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
  ) {}

  /**
   * Creates a link `<origin>/links/<secret>`, which a page reads by {@link look}.
   *
   * @param of `session`: id of the session of the browser that requested it.
   * @throws Refusal `link` if the account is disabled or missing, as for a delayed mail;
   *   `credentials` if the session has ended.
   */
  async make(
    kind: LinkKind,
    of: { accountId?: string; name?: string; email?: string; session?: string | undefined } = {},
    minutesValid = minutes[kind],
  ): Promise<NewLink> {
    const secret = newSecret();
    const { accountId = null, name = null, email = null } = of;
    const expiresAt = await this.links.manager.transaction(async (manager) => {
      // The lock blocks disabling until the commit, so a later deletion of links sees this one.
      if (accountId !== null && !(await heldEnabled(manager, accountId, 'SHARE')))
        throw new Refusal('link');
      await holdSession(manager, of.session);
      const [made] = await rowsOf<{ expiresAt: string }>(
        manager,
        `INSERT INTO account.links (hash, kind, account_id, name, email, expires_at)
         VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 minute') RETURNING expires_at AS "expiresAt"`,
        [hashOf(secret), kind, accountId, name, email, minutesValid],
      );
      await manager.query(
        `DELETE FROM account.links WHERE hash IN (
           SELECT hash FROM account.links WHERE kind = $1 AND account_id IS NOT DISTINCT FROM $2::uuid
           ORDER BY created_at DESC, hash OFFSET $3)`,
        [kind, accountId, accountId === null ? mostOfNobody : mostOfAccount],
      );
      return new Date((made as { expiresAt: string }).expiresAt);
    });
    return { url: `${this.config.PUBLIC_URL}/links/${secret}`, expiresAt };
  }

  /** Returns the content of a valid link without spending it. */
  async look(secret: string): Promise<Link | undefined> {
    const hash = hashOfSecret(secret);
    if (!hash) return undefined;
    const [found] = await rowsOf<Link>(
      this.links.manager,
      `SELECT l.kind, l.account_id AS "accountId", coalesce(a.name, l.name) AS name, l.email, l.expires_at AS "expiresAt"
       FROM account.links l LEFT JOIN account.accounts a ON a.id = l.account_id
       WHERE l.hash = $1 AND l.expires_at > now() AND a.disabled_at IS NULL
         AND (l.kind IN ('first', 'invite') OR a.id IS NOT NULL)`,
      [hash],
    );
    return found && { ...found, expiresAt: new Date(found.expiresAt) };
  }

  /**
   * Spends a link in the transaction that uses its right. Returns `undefined` if it is spent,
   * expired or unknown, or its account is disabled.
   */
  async take(
    manager: EntityManager,
    secret: string,
    kind: LinkKind,
  ): Promise<Omit<Link, 'expiresAt'> | undefined> {
    const hash = hashOfSecret(secret);
    if (!hash) return undefined;
    const [of] = await rowsOf<{ id: string | null }>(
      manager,
      'SELECT account_id AS id FROM account.links WHERE hash = $1 AND kind = $2',
      [hash, kind],
    );
    // Lock order: the account before its links, as in sign-out. This prevents deadlocks.
    if (!of || (of.id !== null && !(await heldEnabled(manager, of.id, 'NO KEY UPDATE'))))
      return undefined;
    const [taken] = await rowsOf<Omit<Link, 'expiresAt'>>(
      manager,
      `DELETE FROM account.links WHERE hash = $1 AND kind = $2 AND expires_at > now()
       RETURNING kind, account_id AS "accountId", name, email`,
      [hash, kind],
    );
    return taken;
  }
}

/** Locks an account until the transaction ends. @returns true if it exists and is not disabled. */
async function heldEnabled(
  manager: EntityManager,
  id: string,
  lock: 'SHARE' | 'NO KEY UPDATE',
): Promise<boolean> {
  const held = await rowsOf(
    manager,
    `SELECT 1 FROM account.accounts WHERE id = $1 AND disabled_at IS NULL FOR ${lock}`,
    [id],
  );
  return held.length === 1;
}
