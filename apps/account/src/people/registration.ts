import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { networkOf } from '#identity';
import { DataSource } from 'typeorm';
import { type Account, Accounts, checkAccountName } from './accounts.js';
import { AttemptLimits } from './limits.js';
import { Links, type NewLink } from './links.js';
import { checkPassword } from './password.rules.js';
import { Passwords } from './passwords.js';
import { PEOPLE_CONFIG, type PeopleConfig } from './people.config.js';
import { Refusal } from './refusal.js';

/** Key of the advisory lock that serializes creation of the first account. */
const firstAccountLockKey = 7_146_001;

/** Name and password of a new account, as entered. */
export interface EnteredCredentials {
  readonly name: string;
  readonly password: string;
}

/**
 * Creates accounts by open registration, by invitation, and by the link for the first account.
 * `REGISTRATION` allows or forbids the first two.
 */
@Injectable()
export class Registration {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly accounts: Accounts,
    private readonly links: Links,
    private readonly passwords: Passwords,
    private readonly limits: AttemptLimits,
    @Inject(PEOPLE_CONFIG) private readonly config: Pick<PeopleConfig, 'REGISTRATION'>,
  ) {}

  /** True if `REGISTRATION` allows anybody to create an account. */
  get isOpenToEverybody(): boolean {
    return this.config.REGISTRATION === 'open';
  }

  /**
   * Creates an account for an unauthenticated client, if registration is open.
   *
   * @param address IP address of the client, for the rate limit.
   * @throws Refusal `registration`, `limited`, `name`, `name_taken`, `password_…`, `busy`.
   */
  async register({ name, password }: EnteredCredentials, address: string): Promise<Account> {
    if (!this.isOpenToEverybody) throw new Refusal('registration');
    checkAccountName(name);
    checkPassword(password, name);
    const network = networkOf(address);
    await this.limits.count('registration', network);
    const passwordHash = await this.passwords.hash(
      password,
      'untrusted',
      name,
      `network ${network}`,
    );
    return this.accounts.create({ name, password: passwordHash });
  }

  /** Creates a link for the first account. Returns undefined if somebody can sign in already. */
  async createFirstLink(): Promise<NewLink | undefined> {
    return (await this.accounts.nobodyCanSignIn()) ? this.links.createLink('first') : undefined;
  }

  /**
   * Creates an account by a link of the kind `first` or `invite`. The first account is an
   * administrator.
   *
   * @throws Refusal `link`, `registration` if `REGISTRATION` forbids invitations, `limited`,
   *   `name`, `name_taken`, `password_…`, `busy`.
   */
  async registerByLink(
    secret: string,
    { name, password }: EnteredCredentials,
    address: string,
  ): Promise<Account> {
    const kind = (await this.links.readLink(secret))?.kind;
    if (kind !== 'first' && kind !== 'invite') throw new Refusal('link');
    if (kind === 'invite' && this.config.REGISTRATION === 'closed')
      throw new Refusal('registration');
    checkAccountName(name);
    checkPassword(password, name);
    const network = networkOf(address);
    await this.limits.count('link', network);
    const passwordHash = await this.passwords.hash(password, 'untrusted', name, `link ${secret}`);
    const account = await this.source.transaction(async (manager) => {
      if (kind === 'first')
        await manager.query('SELECT pg_advisory_xact_lock($1)', [firstAccountLockKey]);
      const link = await this.links.consumeLink(manager, secret, kind);
      if (!link) throw new Refusal('link');
      if (kind === 'first' && !(await this.accounts.nobodyCanSignIn(manager)))
        throw new Refusal('link');
      return this.accounts.create(
        { name, password: passwordHash, isAdministrator: kind === 'first' },
        manager,
      );
    });
    await this.limits.refund('link', network);
    return account;
  }
}
