import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { networkOf } from '#identity';
import { DataSource } from 'typeorm';
import { type Account, Accounts, checkName } from './accounts.js';
import { Limits } from './limits.js';
import { Links, type NewLink } from './links.js';
import { passwordProblem } from './password.rule.js';
import { Passwords } from './passwords.js';
import { PEOPLE, type PeopleConfig } from './people.config.js';
import { Refusal } from './refusal.js';

/** Held by whoever makes the first account, so that there is one. */
const firstLock = 7_146_001;

/** What somebody enters who makes an account. */
export interface Entered {
  readonly name: string;
  readonly password: string;
}

/** For whom there are accounts, and how many at a time. */
@Injectable()
export class RegistrationGate {
  readonly registration: PeopleConfig['REGISTRATION'];

  constructor(
    readonly limits: Limits,
    @Inject(PEOPLE) config: Pick<PeopleConfig, 'REGISTRATION'>,
  ) {
    this.registration = config.REGISTRATION;
  }
}

/** How accounts come into being on the pages: `REGISTRATION` says for whom. */
@Injectable()
export class Registration {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly accounts: Accounts,
    private readonly links: Links,
    private readonly passwords: Passwords,
    private readonly gate: RegistrationGate,
  ) {}

  /** Whether everybody may make an account. */
  get isOpen(): boolean {
    return this.gate.registration === 'open';
  }

  /**
   * Makes an account for whoever wants one, from an address.
   *
   * @throws Refusal `registration`, `limited`, `name`, `name_taken`, `password_…`, `busy`.
   */
  async open({ name, password }: Entered, address: string): Promise<Account> {
    if (!this.isOpen) throw new Refusal('registration');
    checkName(name);
    const problem = passwordProblem(password, name);
    if (problem) throw new Refusal(problem);
    const network = networkOf(address);
    await this.gate.limits.count('registration', network);
    const made = await this.passwords.hash(password, 'stranger', name, `network ${network}`);
    return this.accounts.create({ name, password: made });
  }

  /** A link for the first account, to be shown to the operator; none where somebody has an account. */
  async firstLink(): Promise<NewLink | undefined> {
    return (await this.accounts.areNone()) ? this.links.make('first') : undefined;
  }

  /**
   * Makes an account by a link of the kind `first` or `invite`.
   *
   * @param address from where.
   * @throws Refusal `link`, `registration` where invitations count no more, `limited`, `name`, `name_taken`,
   *   `password_…`, `busy`.
   */
  async byLink(secret: string, { name, password }: Entered, address: string): Promise<Account> {
    const kind = (await this.links.look(secret))?.kind;
    if (kind !== 'first' && kind !== 'invite') throw new Refusal('link');
    if (kind === 'invite' && this.gate.registration === 'closed') throw new Refusal('registration');
    checkName(name);
    const problem = passwordProblem(password, name);
    if (problem) throw new Refusal(problem);
    const network = networkOf(address);
    await this.gate.limits.count('link', network);
    const made = await this.passwords.hash(password, 'stranger', name, `link ${secret}`);
    const account = await this.source.transaction(async (manager) => {
      if (kind === 'first') await manager.query('SELECT pg_advisory_xact_lock($1)', [firstLock]);
      const link = await this.links.take(manager, secret, kind);
      if (!link) throw new Refusal('link');
      if (kind === 'first' && !(await this.accounts.areNone(manager))) throw new Refusal('link');
      return this.accounts.create({ name, password: made }, manager);
    });
    await this.gate.limits.giveBack('link', network);
    return account;
  }
}
