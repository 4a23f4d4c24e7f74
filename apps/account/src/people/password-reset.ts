import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database/typeorm';
import { type EntityManager, IsNull, type Repository } from 'typeorm';
import { whereName } from './accounts.js';
import { Links } from './links.js';
import { checkPassword } from './password.rules.js';
import { Passwords } from './passwords.js';
import { RecoveryCodes } from './recovery-codes.js';
import { Refusal } from './refusal.js';
import { SignInProtection } from './sign-in-protection.js';
import type { Browser, Visitor } from './sessions.js';
import { SignOut } from './sign-out.js';

/**
 * Resets lost passwords by a link or recovery code. A reset ends all access to the account
 * (`SignOut`). The second factor and the unused recovery codes stay. The browser becomes a trusted
 * device, so that earlier wrong passwords do not prevent the sign-in with the new one.
 */
@Injectable()
export class PasswordReset {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly links: Links,
    private readonly codes: RecoveryCodes,
    private readonly passwords: Passwords,
    private readonly signOut: SignOut,
    private readonly protection: SignInProtection,
  ) {}

  /**
   * Sets a new password by a `reset` link.
   *
   * @returns new device cookie for the browser.
   * @throws Refusal `link`, `limited`, `password_…`, `busy`.
   */
  async resetByLink(secret: string, password: string, visitor: Visitor): Promise<string> {
    const link = await this.links.readLink(secret);
    if (link?.kind !== 'reset') throw new Refusal('link');
    const name = link.name ?? '';
    checkPassword(password, name);
    const refundAttempt = await this.protection.countLink(visitor.address);
    const passwordHash = await this.passwords.hash(password, 'untrusted', name, `link ${secret}`);
    await this.replacePassword(passwordHash, visitor, async (manager) => {
      const consumedLink = await this.links.consumeLink(manager, secret, 'reset');
      if (!consumedLink?.accountId) throw new Refusal('link');
      return consumedLink.accountId;
    });
    await refundAttempt();
    return this.protection.clients.cookieFor(name);
  }

  /**
   * Sets a new password by a recovery code. The refusal does not reveal if the name exists.
   *
   * @returns new device cookie for the browser.
   * @throws Refusal `credentials`, `limited`, `password_…`, `busy`.
   */
  async resetByRecoveryCode(
    entered: { name: string; code: string; password: string },
    browser: Browser,
  ): Promise<string> {
    const { name, code, password } = entered;
    const { device, trust } = this.protection.assess(name, browser);
    const attempt = { name, address: browser.address, device };
    const resetCount = await this.protection.countRecovery(attempt);
    // Hashing comes first, so that a rejected password uses up no code, and the duration does not
    // reveal if the name exists.
    const passwordHash = await this.passwords.hash(password, trust, name);
    await this.replacePassword(passwordHash, browser, async (manager) => {
      const account = await manager.findOneBy(AccountEntity, {
        ...whereName(name),
        disabledAt: IsNull(),
      });
      const unknownId = '00000000-0000-0000-0000-000000000000';
      if (!(await this.codes.useCode(manager, account?.id ?? unknownId, code)))
        throw new Refusal('credentials');
      return (account as AccountEntity).id;
    });
    await resetCount();
    return this.protection.clients.cookieFor(name);
  }

  /**
   * Sets the new password and ends all access, in the transaction that uses the link or code.
   *
   * @param passwordHash hash of the new password.
   * @param visitor client of the reset, for the notice.
   * @param consumeProof uses the link or code within the transaction and returns its account id.
   * @throws Refusal `link` if the account is disabled or missing.
   */
  private async replacePassword(
    passwordHash: string,
    visitor: Visitor,
    consumeProof: (manager: EntityManager) => Promise<string>,
  ): Promise<void> {
    const endedAccess = await this.accounts.manager.transaction(async (manager) => {
      const id = await consumeProof(manager);
      const { affected } = await manager.update(
        AccountEntity,
        { id, disabledAt: IsNull() },
        { password: passwordHash },
      );
      if (!affected) throw new Refusal('link');
      return this.signOut.endAccess(manager, id);
    });
    await this.signOut.notifyGateways(endedAccess);
    await this.protection.notices.addNotice(endedAccess.accountId, 'password', visitor);
  }
}
