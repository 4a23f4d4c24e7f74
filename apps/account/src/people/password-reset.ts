import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database';
import { IsNull, type EntityManager, type Repository } from 'typeorm';
import { byName } from './accounts.js';
import { Links } from './links.js';
import { Notices } from './notices.js';
import { passwordProblem } from './password.rules.js';
import { Passwords } from './passwords.js';
import { RecoveryCodes } from './recovery-codes.js';
import { Refusal } from './refusal.js';
import type { Browser } from './sign-in.js';
import { SignInGuard } from './sign-in.guard.js';
import type { Visitor } from './sessions.js';
import { type EndedAccess, SignOut } from './sign-out.js';

/** Account whose password was reset. */
export interface ResetAccount {
  readonly accountId: string;
  readonly name: string;
}

/** Replaces passwords and signs the accounts out. */
@Injectable()
export class PasswordReplacement {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    readonly codes: RecoveryCodes,
    private readonly signOut: SignOut,
    private readonly notices: Notices,
  ) {}

  /**
   * Replaces a password in the transaction that uses up the right to do so.
   *
   * @param password hash of the new password.
   * @param visitor client of the reset, for the notice.
   * @param spend uses up a link or code and returns its account id.
   * @throws Refusal `link` if the account is disabled or missing.
   */
  async replace(
    password: string,
    visitor: Visitor,
    spend: (manager: EntityManager) => Promise<string>,
  ): Promise<ResetAccount> {
    const { name, ended } = await this.accounts.manager.transaction(
      async (manager): Promise<{ name: string | null; ended: EndedAccess }> => {
        const accountId = await spend(manager);
        const account = await manager.findOneBy(AccountEntity, {
          id: accountId,
          disabledAt: IsNull(),
        });
        if (!account) throw new Refusal('link');
        await manager.update(AccountEntity, { id: accountId }, { password });
        return { name: account.name, ended: await this.signOut.endAccess(manager, accountId) };
      },
    );
    await this.signOut.notify(ended);
    await this.notices.add(ended.accountId, 'password', visitor);
    return { accountId: ended.accountId, name: name ?? '' };
  }
}

/**
 * Resets lost passwords by a link or recovery code. A reset ends all access to the account
 * (`SignOut`) and keeps its second factor and recovery codes.
 */
@Injectable()
export class PasswordReset {
  constructor(
    private readonly links: Links,
    private readonly passwords: Passwords,
    private readonly guard: SignInGuard,
    private readonly replacement: PasswordReplacement,
  ) {}

  /** Resets by a link. @throws Refusal `link`, `limited`, `password_…`, `busy`. */
  async resetByLink(
    secret: string,
    password: string,
    address: string,
    userAgent = '',
  ): Promise<ResetAccount> {
    const link = await this.links.read(secret);
    if (link?.kind !== 'reset') throw new Refusal('link');
    const problem = passwordProblem(password, link.name ?? '');
    if (problem) throw new Refusal(problem);
    const succeeded = await this.guard.limits.countLink(address);
    const made = await this.passwords.hash(
      password,
      'untrusted',
      link.name ?? '',
      `link ${secret}`,
    );
    const visitor = { address, userAgent };
    const reset = await this.replacement.replace(made, visitor, async (manager) => {
      const taken = await this.links.spend(manager, secret, 'reset');
      if (!taken?.accountId) throw new Refusal('link');
      return taken.accountId;
    });
    await succeeded();
    return reset;
  }

  /**
   * Resets by a recovery code. The refusal does not reveal if the name exists.
   *
   * @throws Refusal `credentials`, `limited`, `password_…`, `busy`.
   */
  async resetByRecoveryCode(
    entered: { name: string; code: string; password: string },
    browser: Browser,
  ): Promise<ResetAccount> {
    const { name, code, password } = entered;
    const { device, trust } = this.guard.assess(name, browser);
    const attempt = { name, address: browser.address, device };
    const succeeded = await this.guard.limits.countRecovery(attempt);
    // Hash before the code is used: a rejected password spends no code, and timing reveals nothing.
    const made = await this.passwords.hash(password, trust, name);
    const reset = await this.replacement.replace(made, browser, async (manager) => {
      const found = { ...byName(name), disabledAt: IsNull() };
      const account = await manager.findOneBy(AccountEntity, found);
      const nobody = '00000000-0000-0000-0000-000000000000';
      if (!(await this.replacement.codes.use(manager, account?.id ?? nobody, code)))
        throw new Refusal('credentials');
      return (account as AccountEntity).id;
    });
    await succeeded();
    return reset;
  }
}
