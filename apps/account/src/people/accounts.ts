import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database/typeorm';
import {
  type DeepPartial,
  type EntityManager,
  IsNull,
  MoreThan,
  Not,
  QueryFailedError,
  Raw,
  type Repository,
} from 'typeorm';
import { lockAdministrators, updateUnlessLastAdministrator } from './administrators.js';
import { AttemptLimits } from './limits.js';
import { Notices } from './notices.js';
import { checkPassword } from './password.rules.js';
import { Passwords } from './passwords.js';
import { Refusal } from './refusal.js';
import type { ActingSession } from './sessions.js';
import { type EndedAccess, SignOut } from './sign-out.js';
import { queryRows } from './query-rows.js';

/** Account of a person, without its password hash and TOTP secret. */
export interface Account {
  /** User id in all services, and `sub` of tokens. */
  readonly id: string;
  /** `null` until a person who signs in at an OpenID provider chooses a name. */
  readonly name: string | null;
  /** Verified e-mail address, or `null`. */
  readonly email: string | null;
  readonly createdAt: Date;
  /** Time of the last sign-in in a browser; `null` before the first. */
  readonly signedInAt: Date | null;
  /** True if an administrator disabled the account, or its data is being erased. */
  readonly disabled: boolean;
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
  /** Number of passkeys. Each of them is a second factor. */
  readonly passkeyCount: number;
  /**
   * Issuer of the OpenID provider that signs the person in; `null` if this app does. If the issuer
   * changes, the first one stays here (`AUTH_ISSUER_ALIASES`). An issuer need not be a URL.
   */
  readonly issuer: string | null;
  /** True if the person manages the accounts of others. */
  readonly isAdministrator: boolean;
}

/** Returns an account's state. `no password`: nobody can sign in until a link sets a password. */
export function accountState({ disabled, hasPassword, issuer }: Account) {
  if (disabled) return 'disabled';
  return hasPassword || issuer !== null ? 'active' : 'no password';
}

/** Request of one page of the list of accounts. */
export interface AccountQuery {
  /** Maximum number of accounts on the page. */
  readonly limit: number;
  /** Last account of the previous page; undefined for the first page. */
  readonly after?: Pick<Account, 'id' | 'name'> | undefined;
  /** Text that the names contain, ignoring letter case. Default: all accounts. */
  readonly name?: string;
}

/** Initial values of an account; by default, `id` is random. */
export interface NewAccount {
  readonly name: string | null;
  readonly id?: string;
  /** Password hash as a PHC string. */
  readonly password?: string;
  readonly issuer?: string;
  readonly subject?: string;
  /** True for an administrator. Default: false. */
  readonly isAdministrator?: boolean;
}

const accountNamePattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** Checks the syntax of a name. @throws Refusal `name`. */
export function checkAccountName(name: string): void {
  if (!accountNamePattern.test(name)) throw new Refusal('name');
}

/** Returns a TypeORM condition for a name in any letter case. Invalid names match no account. */
export const whereName = (name: string) => ({
  name: Raw((column) => `lower(${column}) = lower(:name)`, {
    name: accountNamePattern.test(name) ? name : '',
  }),
});

/**
 * Reads, creates and changes accounts. Invariants:
 * - The transaction that creates, disables or enables an account also makes all services accept or
 *   refuse its user. It locks the user's clock before the account, as an erasure does.
 * - Gateways are notified of ended access after the commit.
 */
@Injectable()
export class Accounts {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly passwords: Passwords,
    private readonly signOut: SignOut,
    private readonly limits: AttemptLimits,
    private readonly notices: Notices,
  ) {}

  /** Returns the account with this id; undefined if it does not exist. */
  async find(id: string): Promise<Account | undefined> {
    const entity = await this.accounts.findOneBy({ id });
    return entity ? toAccount(entity) : undefined;
  }

  /** Returns the account with this name, ignoring letter case; undefined if it does not exist. */
  async findByName(name: string): Promise<Account | undefined> {
    const entity = await this.accounts.findOneBy(whereName(name));
    return entity ? toAccount(entity) : undefined;
  }

  /**
   * Returns a page of accounts, ordered by name in any letter case. Accounts without a name come
   * last, ordered by id. An index has this order, so a later page costs no more than the first.
   */
  async list({ limit, after, name = '' }: AccountQuery): Promise<Account[]> {
    const page = after?.name === null ? [] : await this.listNamed(limit, name, after?.name);
    if (page.length < limit && name === '') {
      const unnamedAccounts = await this.accounts.find({
        where: { name: IsNull(), ...(after?.name === null && { id: MoreThan(after.id) }) },
        order: { id: 'ASC' },
        take: limit - page.length,
      });
      page.push(...unnamedAccounts);
    }
    return page.map(toAccount);
  }

  private listNamed(limit: number, search: string, lastName?: string): Promise<AccountEntity[]> {
    const query = this.accounts
      .createQueryBuilder('a')
      .where('strpos(lower(a.name), lower(:part)) > 0', { part: search })
      .orderBy('lower(a.name)')
      .limit(limit);
    if (lastName !== undefined) query.andWhere('lower(a.name) > lower(:last)', { last: lastName });
    return query.getMany();
  }

  /**
   * Returns true if no account has a password or an OpenID provider. Accounts that only use app
   * passwords have neither; disabled accounts count as able to sign in.
   */
  async nobodyCanSignIn(manager: EntityManager = this.accounts.manager): Promise<boolean> {
    const signInConditions = [{ password: Not(IsNull()) }, { issuer: Not(IsNull()) }];
    return !(await manager.existsBy(AccountEntity, signInConditions));
  }

  /** Creates an account. @throws Refusal `name`, `name_taken`; `erased` for an erased user's id. */
  async create(
    account: NewAccount,
    manager: EntityManager = this.accounts.manager,
  ): Promise<Account> {
    if (account.name !== null) checkAccountName(account.name);
    const { id = randomUUID(), ...columns } = account;
    return manager.transaction(async (transaction) => {
      if (await setUserRefusal(transaction, id, null)) throw new Refusal('erased');
      await rejectTakenName(
        transaction.insert(AccountEntity, { id, ...columns } as DeepPartial<AccountEntity>),
      );
      return toAccount(await transaction.findOneByOrFail(AccountEntity, { id }));
    });
  }

  /**
   * Returns the account of a person who signs in at an OpenID provider; the first call creates it.
   *
   * @param id user id that the function `userId` derives from issuer and subject.
   * @throws Refusal `erased` if the person's data was erased or is being erased; `credentials` if
   *   Postgres cannot store the subject.
   */
  async findOrCreateByProvider(issuer: string, subject: string, id: string): Promise<Account> {
    // UTF-8 encodes all lone surrogates alike, so two subjects would share one account. Postgres
    // cannot store NUL.
    if (!subject.isWellFormed() || subject.includes('\0')) throw new Refusal('credentials');
    const findExisting = async () => {
      const entity = await this.accounts.findOneBy({ issuer, subject });
      return entity && toAccount(entity);
    };
    return (
      (await findExisting()) ??
      this.create({ id, name: null, issuer, subject }).catch(async (error: unknown) => {
        // A concurrent sign-in may have created the account.
        const existingAccount = await findExisting();
        if (existingAccount) return existingAccount;
        throw error;
      })
    );
  }

  /** Changes the name of an account. @throws Refusal `name`, `name_taken`. */
  async rename(id: string, name: string): Promise<void> {
    checkAccountName(name);
    await rejectTakenName(this.accounts.update({ id }, { name }));
  }

  /**
   * Changes the password. Ends all access except the current session, app passwords and passkeys.
   *
   * @param by current session, which stays signed in.
   * @throws Refusal `credentials` if `currentPassword` is wrong, `limited`, `password_…`, `busy`.
   */
  async changePassword(
    id: string,
    currentPassword: string,
    newPassword: string,
    by: ActingSession,
  ): Promise<void> {
    const account = await this.accounts.findOneByOrFail({ id });
    const name = account.name ?? '';
    checkPassword(newPassword, name);
    await this.limits.count('password', id);
    const key = `account ${id}`;
    if (!(await this.passwords.verify(account.password, currentPassword, 'trustedDevice', key)))
      throw new Refusal('credentials');
    const newHash = await this.passwords.hash(newPassword, 'trustedDevice', name, key);
    const endedAccess = await this.accounts.manager.transaction(async (manager) => {
      const changedRows = await queryRows(
        manager,
        `UPDATE account.accounts SET password = $3
         WHERE id = $1 AND password = $2 AND disabled_at IS NULL RETURNING id`,
        [id, account.password, newHash],
      );
      // A concurrent request changed the password or disabled the account.
      if (changedRows.length === 0) throw new Refusal('credentials');
      return this.signOut.endAccess(manager, id, { session: by.id, credentials: true });
    });
    await this.limits.reset('password', id);
    await this.signOut.notifyGateways(endedAccess);
    await this.notices.addNotice(id, 'password', by);
  }

  /**
   * Disables an account and signs it out. Its data stays. Its app passwords stay, but are invalid.
   *
   * @returns true if the account exists.
   * @throws Refusal `last_administrator` for the only enabled administrator.
   */
  async disable(id: string): Promise<boolean> {
    const endedAccess = await this.accounts.manager.transaction(
      async (manager): Promise<EndedAccess | undefined> => {
        if (!(await manager.existsBy(AccountEntity, { id }))) return undefined;
        // Lock order: the user's clock before the account, as in an erasure.
        await setUserRefusal(manager, id, 1);
        await lockAdministrators(manager);
        await updateUnlessLastAdministrator(
          manager,
          id,
          'disabled_at = coalesce(disabled_at, now())',
        );
        return this.signOut.endAccess(manager, id, { credentials: true });
      },
    );
    if (endedAccess) await this.signOut.notifyGateways(endedAccess);
    return endedAccess !== undefined;
  }

  /**
   * Enables a disabled account. Ended sessions and grants of apps stay ended.
   *
   * @returns true if the account exists.
   * @throws Refusal `erased` if the user's data was erased or is being erased.
   */
  async enable(id: string): Promise<boolean> {
    return this.accounts.manager.transaction(async (manager) => {
      if (await setUserRefusal(manager, id, null)) throw new Refusal('erased');
      return Boolean((await manager.update(AccountEntity, { id }, { disabledAt: null })).affected);
    });
  }
}

/**
 * Makes all services refuse a user's requests, or accept them again unless an erasure has started.
 *
 * @param refusal 1 to refuse, null to accept.
 * @returns true if services refuse the user afterwards.
 */
async function setUserRefusal(
  manager: EntityManager,
  id: string,
  refusal: 1 | null,
): Promise<boolean> {
  const [userState] = await queryRows<{ refused: number | null }>(
    manager,
    'SELECT sync.refuse_user($1, $2::smallint) AS refused',
    [id, refusal],
  );
  return userState?.refused != null;
}

function toAccount(entity: AccountEntity): Account {
  const { id, name, email, createdAt, signedInAt, issuer, isAdministrator, passkeyCount } = entity;
  return {
    id,
    name,
    email,
    createdAt,
    signedInAt,
    issuer,
    isAdministrator,
    passkeyCount,
    disabled: entity.disabledAt !== null,
    hasPassword: entity.password !== null,
    hasTotp: entity.totpConfirmedAt !== null,
  };
}

/** Awaits a statement that sets an account's name. @throws Refusal `name_taken` on a conflict. */
async function rejectTakenName(statement: Promise<unknown>): Promise<void> {
  try {
    await statement;
  } catch (error) {
    const { code, constraint } = (error instanceof QueryFailedError ? error.driverError : {}) as {
      code?: string;
      constraint?: string;
    };
    // A taken id gets the same refusal as a taken name. A concurrent sign-in at the provider causes
    // the other conflict, which `findOrCreateByProvider` handles.
    if (code === '23505' && constraint !== 'accounts_subject_key') throw new Refusal('name_taken');
    throw error;
  }
}
