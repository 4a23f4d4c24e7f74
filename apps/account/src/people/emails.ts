import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database';
import { networkOf } from '#identity';
import { IsNull, Not, type Repository } from 'typeorm';
import { byName } from './accounts.js';
import { Limits } from './limits.js';
import { type LinkKind, Links, type NewLink } from './links.js';
import { isMailAddress, Mail } from './mail.js';
import type { Language } from '#ui';
import { mailTexts } from './mail.texts.js';
import { Refusal } from './refusal.js';

/** Mail addresses of people, and what is sent to them. */
@Injectable()
export class Emails {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly links: Links,
    private readonly limits: Limits,
    private readonly mail: Mail,
  ) {}

  /** Whether the operator has a mail server: without it, pages offer neither addresses nor links by mail. */
  get areOn(): boolean {
    return this.mail.isOn;
  }

  /**
   * Sends a link to an address, which counts as the person's once it was opened.
   *
   * @throws Refusal `unavailable` without a mail server, `email`, `limited`.
   */
  async propose(accountId: string, email: string, language: Language): Promise<void> {
    if (!this.areOn) throw new Refusal('unavailable');
    if (!isMailAddress(email)) throw new Refusal('email');
    await this.limits.count('mail', accountId);
    const { name } = await this.accounts.findOneByOrFail({ id: accountId });
    this.mail.soon(async () => {
      const link = await this.linkFor('verify', { accountId, email });
      return link && { to: email, ...mailTexts[language].verify(name ?? '', link.url) };
    });
  }

  /** Takes the address that a link proves over. @returns it. @throws Refusal `link`. */
  async verify(secret: string): Promise<string> {
    return this.accounts.manager.transaction(async (manager) => {
      const link = await this.links.take(manager, secret, 'verify');
      if (!link?.accountId || !link.email) throw new Refusal('link');
      await manager.update(
        AccountEntity,
        { id: link.accountId },
        { email: link.email, emailVerifiedAt: () => 'now()' },
      );
      return link.email;
    });
  }

  /** Forgets the address. */
  async remove(accountId: string): Promise<void> {
    await this.accounts.update({ id: accountId }, { email: null, emailVerifiedAt: null });
  }

  /**
   * Sends a link for a new password to the address of the account of this name, if both exist. The answer and its time
   * are the same in any case.
   *
   * @throws Refusal `unavailable` without a mail server, `limited` by the network that asks.
   */
  async sendReset(name: string, address: string, language: Language): Promise<void> {
    if (!this.areOn) throw new Refusal('unavailable');
    await this.limits.count('mail_address', networkOf(address));
    this.mail.soon(async () => {
      const known = { emailVerifiedAt: Not(IsNull()), disabledAt: IsNull() };
      const account = await this.accounts.findOneBy({ ...byName(name), ...known });
      if (!account?.email || !(await this.mayBeSent(account.id))) return undefined;
      const link = await this.linkFor('reset', { accountId: account.id });
      return link && { to: account.email, ...mailTexts[language].reset(account.name ?? '', link.url) };
    });
  }

  /** None where the account was disabled or erased before the mail's turn came. */
  private async linkFor(kind: LinkKind, of: Parameters<Links['make']>[1]): Promise<NewLink | undefined> {
    try {
      return await this.links.make(kind, of);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  /** Whether an account has not been sent too many, whoever asks for them. */
  private async mayBeSent(accountId: string): Promise<boolean> {
    try {
      await this.limits.count('mail', accountId);
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  }
}
