import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database';
import { IsNull, type EntityManager, type Repository } from 'typeorm';
import { byName } from './accounts.js';
import { Links } from './links.js';
import { passwordProblem } from './password.rule.js';
import { Passwords } from './passwords.js';
import { RecoveryCodes } from './recovery-codes.js';
import { Refusal } from './refusal.js';
import type { Browser } from './sign-in.js';
import { SignInGuard } from './sign-in.guard.js';
import { type Ended, SignOut } from './sign-out.js';

/** Somebody has a new password. */
export interface Reset {
  readonly accountId: string;
  readonly name: string;
}

/** What each new password ends. */
@Injectable()
export class ResetEnding {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    readonly codes: RecoveryCodes,
    private readonly signOut: SignOut,
  ) {}

  /**
   * Changes a password in one transaction with what gives the right to it.
   *
   * @param spend uses a link or a code, and says whose it was.
   */
  async change(password: string, spend: (manager: EntityManager) => Promise<string>): Promise<Reset> {
    const { name, ended } = await this.accounts.manager.transaction(
      async (manager): Promise<{ name: string | null; ended: Ended }> => {
        const accountId = await spend(manager);
        const account = await manager.findOneBy(AccountEntity, { id: accountId, disabledAt: IsNull() });
        if (!account) throw new Refusal('link');
        await manager.update(AccountEntity, { id: accountId }, { password });
        return { name: account.name, ended: await this.signOut.within(manager, accountId) };
      },
    );
    await this.signOut.announce(ended);
    return { accountId: ended.accountId, name: name ?? '' };
  }
}

/**
 * New passwords for those who lost theirs: by a link or by a recovery code. Whichever it was, every session and every
 * app's access ends, and links that are out work no more. A second factor stays.
 */
@Injectable()
export class PasswordReset {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly links: Links,
    private readonly passwords: Passwords,
    private readonly guard: SignInGuard,
    private readonly ending: ResetEnding,
  ) {}

  /** @param address from where. @throws Refusal `link`, `limited`, `password_…`, `busy`. */
  async byLink(secret: string, password: string, address: string): Promise<Reset> {
    const link = await this.links.look(secret);
    if (link?.kind !== 'reset') throw new Refusal('link');
    const problem = passwordProblem(password, link.name ?? '');
    if (problem) throw new Refusal(problem);
    const succeeded = await this.guard.limits.beginLink(address);
    const made = await this.passwords.hash(password, 'stranger', link.name ?? '', `link ${secret}`);
    const reset = await this.ending.change(made, async (manager) => {
      const taken = await this.links.take(manager, secret, 'reset');
      if (!taken?.accountId) throw new Refusal('link');
      return taken.accountId;
    });
    await succeeded();
    return reset;
  }

  /**
   * With one of the codes that the person kept. The refusal does not tell whether there is such a name.
   *
   * @throws Refusal `credentials`, `limited`, `password_…`, `busy`.
   */
  async byRecoveryCode(entered: { name: string; code: string; password: string }, browser: Browser): Promise<Reset> {
    const { name, code, password } = entered;
    const { device, standing } = this.guard.of(name, browser);
    const succeeded = await this.guard.limits.begin({ name, address: browser.address, device });
    // Before the code, so that a good one is not lost over a bad password, and nothing is to be seen from the time.
    const made = await this.passwords.hash(password, standing, name);
    const reset = await this.ending.change(made, async (manager) => {
      const account = await this.accounts.findOneBy({ ...byName(name), disabledAt: IsNull() });
      const nobody = '00000000-0000-0000-0000-000000000000';
      if (!(await this.ending.codes.use(manager, account?.id ?? nobody, code))) throw new Refusal('credentials');
      return (account as AccountEntity).id;
    });
    await succeeded();
    return reset;
  }
}
