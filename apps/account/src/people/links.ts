import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LinkEntity } from '#database';
import type { EntityManager, Repository } from 'typeorm';
import { PEOPLE, type PeopleConfig } from './people.config.js';
import { Refusal } from './refusal.js';
import { hashOf, hashOfSecret, newSecret } from './secret.hash.js';
import { rowsOf } from './statement.rows.js';

export type LinkKind = LinkEntity['kind'];

/** What a link stands for. */
export interface Link {
  readonly kind: LinkKind;
  /** Whose password is reset, or whose address is verified. */
  readonly accountId: string | null;
  /** The name of that account. */
  readonly name: string | null;
  /** The address that is verified. */
  readonly email: string | null;
  readonly expiresAt: Date;
}

/** A link that was just made. */
export interface NewLink {
  /** All of it, with the secret; not kept. */
  readonly url: string;
  readonly expiresAt: Date;
}

const day = 24 * 60;
/** How long each kind works, in minutes. A reset by the operator may take the way of an invitation. */
const minutes: Record<LinkKind, number> = { first: 7 * day, invite: 7 * day, reset: 60, verify: day };

/** The most links of one account and kind, and of the kinds of no account: the oldest go. */
const mostOfAccount = 5;
const mostOfNobody = 1_000;

/**
 * Links that stand for a right: to make the first account or one more, to choose a new password, to prove an address.
 *
 * Invariants:
 * - What opens a link changes nothing; {@link take} does, once, for whoever comes first. It is a part of the transaction
 *   that uses the right, so that a link is spent exactly when that is committed.
 * - The secret is kept as a hash only; there are never more than a few links of an account.
 */
@Injectable()
export class Links {
  constructor(
    @InjectRepository(LinkEntity) private readonly links: Repository<LinkEntity>,
    @Inject(PEOPLE) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
  ) {}

  /**
   * Makes a link: `<origin>/links/<secret>`, which a page answers by {@link look}.
   *
   * @param minutesValid where it is not to be the kind's usual time.
   * @throws Refusal `link` where the account is disabled or gone: a mail that is made late brings nothing back.
   */
  async make(
    kind: LinkKind,
    of: { accountId?: string; name?: string; email?: string } = {},
    minutesValid = minutes[kind],
  ): Promise<NewLink> {
    const secret = newSecret();
    const { accountId = null, name = null, email = null } = of;
    const expiresAt = await this.links.manager.transaction(async (manager) => {
      // Until the commit nobody disables it, so whatever ends its links sees this one.
      if (accountId !== null && !(await heldEnabled(manager, accountId, 'SHARE'))) throw new Refusal('link');
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

  /** What a link stands for, as long as it works; changes nothing. */
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
   * Spends a link of a kind, in the transaction that uses its right. `undefined` where it is spent, or never was, or its
   * account is disabled.
   */
  async take(manager: EntityManager, secret: string, kind: LinkKind): Promise<Omit<Link, 'expiresAt'> | undefined> {
    const hash = hashOfSecret(secret);
    if (!hash) return undefined;
    const [of] = await rowsOf<{ id: string | null }>(
      manager,
      'SELECT account_id AS id FROM account.links WHERE hash = $1 AND kind = $2',
      [hash, kind],
    );
    // The account before its links, as whoever ends these does: neither waits for the other for ever.
    if (!of || (of.id !== null && !(await heldEnabled(manager, of.id, 'NO KEY UPDATE')))) return undefined;
    const [taken] = await rowsOf<Omit<Link, 'expiresAt'>>(
      manager,
      `DELETE FROM account.links WHERE hash = $1 AND kind = $2 AND expires_at > now()
       RETURNING kind, account_id AS "accountId", name, email`,
      [hash, kind],
    );
    return taken;
  }
}

/** Locks an account until the transaction's end. @returns whether there is one that is not disabled. */
async function heldEnabled(manager: EntityManager, id: string, lock: 'SHARE' | 'NO KEY UPDATE'): Promise<boolean> {
  const held = await rowsOf(
    manager,
    `SELECT 1 FROM account.accounts WHERE id = $1 AND disabled_at IS NULL FOR ${lock}`,
    [id],
  );
  return held.length === 1;
}
