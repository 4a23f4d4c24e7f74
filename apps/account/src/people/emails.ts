import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database/typeorm';
import { networkOf } from '#identity';
import { IsNull, Not, type Repository } from 'typeorm';
import { whereName } from './accounts.js';
import { AttemptLimits } from './limits.js';
import { type LinkKind, Links, type NewLink } from './links.js';
import { isMailAddress, Mail } from './mail.js';
import type { Language } from '#ui';
import { mailTexts } from './mail-texts.js';
import { Notices } from './notices.js';
import { Refusal } from './refusal.js';
import type { Visitor } from './sessions.js';

/** Verifies, stores and removes e-mail addresses of accounts, and mails password-reset links. */
@Injectable()
export class Emails {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly links: Links,
    private readonly limits: AttemptLimits,
    private readonly mail: Mail,
    private readonly notices: Notices,
  ) {}

  /** True if a mail server is configured (`SMTP_URL`). */
  get hasMailServer(): boolean {
    return this.mail.hasMailServer;
  }

  /**
   * Mails a verification link in the background. When the person opens the link,
   * {@link verifyAddress} stores the address.
   *
   * @param session id of the browser session that requests the mail. If the session ends before
   *   the link is stored, no mail is sent.
   * @throws Refusal `unavailable` without a mail server, `email`, `limited`.
   */
  async requestVerification(
    accountId: string,
    email: string,
    language: Language,
    session?: string,
  ): Promise<void> {
    this.checkRecipient(email);
    await this.limits.count('mail', accountId);
    const { name } = await this.accounts.findOneByOrFail({ id: accountId });
    this.mail.sendInBackground(async () => {
      const link = await this.createLink('verify', { accountId, email, session });
      return link && { to: email, ...mailTexts[language].verify(name ?? '', link.url) };
    });
  }

  /**
   * Mails an invitation in the background.
   *
   * @param inviter account id and session id of the administrator. If the session ends before the
   *   link is stored, no mail is sent.
   * @throws Refusal `unavailable` without a mail server, `email`, `limited`.
   */
  async sendInvitation(
    email: string,
    language: Language,
    inviter: { readonly accountId: string; readonly session: string },
  ): Promise<void> {
    this.checkRecipient(email);
    await this.limits.count('invitation', inviter.accountId);
    this.mail.sendInBackground(async () => {
      const link = await this.createLink('invite', { session: inviter.session });
      return link && { to: email, ...mailTexts[language].invite(link.url) };
    });
  }

  /**
   * Stores the e-mail address of a verification link, and notifies the previous verified address.
   *
   * @returns the stored e-mail address.
   * @throws Refusal `link` if the link is unknown, used or expired, or its account is disabled.
   */
  async verifyAddress(secret: string, visitor?: Visitor): Promise<string> {
    const { accountId, email, previousEmail } = await this.accounts.manager.transaction(
      async (manager) => {
        const link = await this.links.consumeLink(manager, secret, 'verify');
        if (!link?.accountId || !link.email) throw new Refusal('link');
        const id = link.accountId;
        const previousAccount = await manager.findOneBy(AccountEntity, { id });
        await manager.update(
          AccountEntity,
          { id },
          { email: link.email, emailVerifiedAt: () => 'now()' },
        );
        return {
          accountId: id,
          email: link.email,
          previousEmail: getVerifiedEmail(previousAccount),
        };
      },
    );
    await this.notices.addNotice(accountId, 'email', visitor, { email: previousEmail });
    return email;
  }

  /** Removes the e-mail address of an account, and notifies that address if it was verified. */
  async removeAddress(accountId: string, visitor?: Visitor): Promise<void> {
    const verifiedEmail = getVerifiedEmail(await this.accounts.findOneBy({ id: accountId }));
    await this.accounts.update({ id: accountId }, { email: null, emailVerifiedAt: null });
    await this.notices.addNotice(accountId, 'email', visitor, { email: verifiedEmail });
  }

  /**
   * Mails a reset link to the verified e-mail address of the account with this name. Sends nothing
   * if the account is missing or disabled, has no such address, or has reached its limit of mails.
   * Response and duration reveal none of this.
   *
   * @param address IP address of the client, for the rate limit.
   * @throws Refusal `unavailable` without a mail server, `limited` if the client's network has
   *   reached its limit.
   */
  async sendResetLink(name: string, address: string, language: Language): Promise<void> {
    if (!this.hasMailServer) throw new Refusal('unavailable');
    await this.limits.count('mail_address', networkOf(address));
    this.mail.sendInBackground(async () => {
      const mailableState = { emailVerifiedAt: Not(IsNull()), disabledAt: IsNull() };
      const account = await this.accounts.findOneBy({ ...whereName(name), ...mailableState });
      if (!account?.email || !(await this.limits.tryCount('mail', account.id))) return undefined;
      const link = await this.createLink('reset', { accountId: account.id });
      return (
        link && { to: account.email, ...mailTexts[language].reset(account.name ?? '', link.url) }
      );
    });
  }

  private checkRecipient(email: string): void {
    if (!this.hasMailServer) throw new Refusal('unavailable');
    if (!isMailAddress(email)) throw new Refusal('email');
  }

  /** Creates a link. Returns undefined if the account is disabled or the session has ended. */
  private async createLink(
    kind: LinkKind,
    properties: Parameters<Links['createLink']>[1],
  ): Promise<NewLink | undefined> {
    try {
      return await this.links.createLink(kind, properties);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }
}

function getVerifiedEmail(account: AccountEntity | null): string | null {
  return account?.emailVerifiedAt ? account.email : null;
}
