import { Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Passkeys } from '../people/passkeys.js';
import { RecoveryCodes } from '../people/recovery-codes.js';
import { ForPerson, PageController } from './person.guard.js';
import type { RefusedForm } from './refusal-texts.js';
import { browserName } from './views/browser-name.js';
import { passkeysPage } from './views/passkeys.view.js';

/** Serves the page of passkeys after a recent sign-in. Accounts of a provider have no passkeys. */
@PageController()
export class PasskeyController {
  constructor(
    private readonly passkeys: Passkeys,
    private readonly recoveryCodes: RecoveryCodes,
  ) {}

  @Get('passkeys')
  @ForPerson({ recently: true })
  async showPasskeys(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    if (account.issuer !== null) return page.redirect('/account');
    const { host, 'user-agent': userAgent = '' } = page.request.headers;
    const [passkeys, options] = await Promise.all([
      this.passkeys.list(account.id),
      this.passkeys.creationOptions(account, { host, binding: session.id }),
    ]);
    const label = browserName(page.visit, userAgent);
    page.show(passkeysPage, { passkeys, options, label, ...page.takeOutcome<RefusedForm>() });
  }

  @Post('passkeys')
  @ForPerson({ recently: true })
  async addPasskey(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    if (account.issuer !== null) return page.redirect('/account');
    const { label = '', credential = '' } = page.form;
    const { host } = page.request.headers;
    try {
      const newPasskey = { host, binding: session.id, label, credential };
      await this.passkeys.addPasskey(account.id, newPasskey, session);
    } catch (error) {
      return page.refuse('/passkeys', error, { entered: label });
    }
    // Without recovery codes, a lost passkey locks the user out.
    const hasRecoveryCodes = (await this.recoveryCodes.countUnused(account.id)) > 0;
    page.redirect(hasRecoveryCodes ? '/account?done' : '/recovery-codes');
  }

  @Post('passkeys/remove')
  @ForPerson({ recently: true, next: '/passkeys' })
  async removePasskey(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    await this.passkeys.removePasskey(account.id, page.form['id'] ?? '', session);
    page.redirect('/account?done');
  }
}
