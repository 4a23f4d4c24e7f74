import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database';
import { type DeepPartial, type EntityManager, MoreThan, QueryFailedError, Raw, type Repository } from 'typeorm';
import { Limits } from './limits.js';
import { passwordProblem } from './password.rule.js';
import { Passwords } from './passwords.js';
import { Refusal } from './refusal.js';
import { type Ended, SignOut } from './sign-out.js';
import { rowsOf } from './statement.rows.js';

/** A person, as pages and the operator see it. */
export interface Account {
  /** The user's id everywhere else, and the `sub` of tokens. */
  readonly id: string;
  /** `null` until somebody who comes from a provider chooses one. */
  readonly name: string | null;
  /** Proven to be the person's. */
  readonly email: string | null;
  readonly createdAt: Date;
  readonly disabled: boolean;
  readonly hasPassword: boolean;
  /** Whether a code is asked for at sign-in. */
  readonly hasTotp: boolean;
  /** The provider that signs the person in, where it is not this app. */
  readonly issuer: string | null;
}

/** What a new account begins with. */
export interface NewAccount {
  readonly name: string | null;
  /** Default: a random one. */
  readonly id?: string;
  /** PHC text. */
  readonly password?: string;
  readonly issuer?: string;
  readonly subject?: string;
}

/** Names, unique without case. */
const namePattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** @throws Refusal `name` where nobody can be named so. */
export function checkName(name: string): void {
  if (!namePattern.test(name)) throw new Refusal('name');
}

/** Finds an account by its name, in any letter case. */
export const byName = (name: string) => ({
  name: Raw((column) => `lower(${column}) = lower(:name)`, { name: namePattern.test(name) ? name : '' }),
});

/** The people who have an account. */
@Injectable()
export class Accounts {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly passwords: Passwords,
    private readonly signOut: SignOut,
    private readonly limits: Limits,
  ) {}

  async find(id: string): Promise<Account | undefined> {
    const found = await this.accounts.findOneBy({ id });
    return found ? shown(found) : undefined;
  }

  /** By name, in any letter case. */
  async findByName(name: string): Promise<Account | undefined> {
    const found = await this.accounts.findOneBy(byName(name));
    return found ? shown(found) : undefined;
  }

  /** In the order of their ids, those after one; for the operator. */
  async list(after?: Account, limit = 1_000): Promise<Account[]> {
    const found = await this.accounts.find({
      where: after ? { id: MoreThan(after.id) } : {},
      order: { id: 'ASC' },
      take: limit,
    });
    return found.map(shown);
  }

  /** Whether nobody has an account yet. */
  async areNone(manager: EntityManager = this.accounts.manager): Promise<boolean> {
    return !(await manager.existsBy(AccountEntity, {}));
  }

  /**
   * Makes an account, alone or as a part of a transaction.
   *
   * @throws Refusal `name`, `name_taken`; `erased` where the id is one whose data was erased.
   */
  async create(account: NewAccount, manager: EntityManager = this.accounts.manager): Promise<Account> {
    if (account.name !== null) checkName(account.name);
    const { id = randomUUID(), ...rest } = account;
    return manager.transaction(async (within) => {
      if (await refused(within, id, null)) throw new Refusal('erased');
      await named(within.insert(AccountEntity, { id, ...rest } as DeepPartial<AccountEntity>));
      return shown(await within.findOneByOrFail(AccountEntity, { id }));
    });
  }

  /**
   * The account of somebody whom another provider signs in, made at the first time.
   *
   * @param id what issuer and subject make (`userId`).
   * @throws Refusal `erased` where the data of this person was erased, or is just now.
   */
  async ofProvider(issuer: string, subject: string, id: string): Promise<Account> {
    const known = async () => {
      const found = await this.accounts.findOneBy({ issuer, subject });
      return found && shown(found);
    };
    return (
      (await known()) ??
      this.create({ id, name: null, issuer, subject }).catch(async (error: unknown) => {
        // Somebody else may have made it at the same time.
        const made = await known();
        if (made) return made;
        throw error;
      })
    );
  }

  /** @throws Refusal `name`, `name_taken`. */
  async rename(id: string, name: string): Promise<void> {
    checkName(name);
    await named(this.accounts.update({ id }, { name }));
  }

  /**
   * Changes the password of somebody who knows the one before, and signs out everything else.
   *
   * @param session stays.
   * @throws Refusal `credentials` where `current` is wrong, `limited`, `password_…`, `busy`.
   */
  async changePassword(id: string, current: string, password: string, session: string): Promise<void> {
    const account = await this.accounts.findOneByOrFail({ id });
    const name = account.name ?? '';
    const problem = passwordProblem(password, name);
    if (problem) throw new Refusal(problem);
    await this.limits.count('password', id);
    const key = `account ${id}`;
    if (!(await this.passwords.verify(account.password, current, 'known', key))) throw new Refusal('credentials');
    const made = await this.passwords.hash(password, 'known', name, key);
    const ended = await this.accounts.manager.transaction(async (manager) => {
      const changed = await rowsOf(
        manager,
        `UPDATE account.accounts SET password = $3 WHERE id = $1 AND password = $2 AND disabled_at IS NULL RETURNING id`,
        [id, account.password, made],
      );
      // Somebody else changed it at the same time.
      if (changed.length === 0) throw new Refusal('credentials');
      return this.signOut.within(manager, id, session);
    });
    await this.limits.forget('password', id);
    await this.signOut.announce(ended);
  }

  /**
   * Keeps an account from signing in and from its data, until it is enabled again; its data stays.
   *
   * @returns whether there is one.
   */
  async disable(id: string): Promise<boolean> {
    const ended = await this.accounts.manager.transaction(async (manager): Promise<Ended | undefined> => {
      if (!(await manager.existsBy(AccountEntity, { id }))) return undefined;
      // The user's clock before the account, as an erasure does: neither waits for the other for ever.
      await refused(manager, id, 1);
      await manager.query('UPDATE account.accounts SET disabled_at = coalesce(disabled_at, now()) WHERE id = $1', [id]);
      return this.signOut.within(manager, id);
    });
    if (ended) await this.signOut.announce(ended);
    return ended !== undefined;
  }

  /** @returns whether there is one. @throws Refusal `erased` where its data is erased just now. */
  async enable(id: string): Promise<boolean> {
    return this.accounts.manager.transaction(async (manager) => {
      if (await refused(manager, id, null)) throw new Refusal('erased');
      return Boolean((await manager.update(AccountEntity, { id }, { disabledAt: null })).affected);
    });
  }
}

/** Has the services refuse a user (1), or admit them again. @returns whether they are refused then. */
async function refused(manager: EntityManager, id: string, refusal: 1 | null): Promise<boolean> {
  const [state] = await rowsOf<{ refused: number | null }>(
    manager,
    'SELECT sync.refuse_user($1, $2::smallint) AS refused',
    [id, refusal],
  );
  return state?.refused != null;
}

function shown(found: AccountEntity): Account {
  const { id, name, email, createdAt, issuer } = found;
  return {
    id,
    name,
    email,
    createdAt,
    issuer,
    disabled: found.disabledAt !== null,
    hasPassword: found.password !== null,
    hasTotp: found.totpConfirmedAt !== null,
  };
}

/** Runs a statement that gives an account a name. */
async function named(change: Promise<unknown>): Promise<void> {
  try {
    await change;
  } catch (error) {
    const { code, constraint } = (error instanceof QueryFailedError ? error.driverError : {}) as {
      code?: string;
      constraint?: string;
    };
    // The id may be that of somebody who had the name before.
    if (code === '23505' && constraint !== 'accounts_subject_key') throw new Refusal('name_taken');
    throw error;
  }
}
