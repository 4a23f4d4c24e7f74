import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Passkeys } from '../people/passkeys.js';
import { RecoveryCodes } from '../people/recovery-codes.js';
import { type Form, FormOf } from './form.js';
import { PageResponder, visitFor } from './page.responder.js';
import { ForPerson, PageController, type Person, PersonOf } from './person.guard.js';
import { problemsOf, type RefusedForm } from './refusal.texts.js';
import { browserName } from './views/browser-name.js';
import { passkeysPage } from './views/passkeys.view.js';

/** Serves the page of passkeys after a recent sign-in. Accounts of a provider have none. */
@PageController()
export class PasskeyController {
  constructor(
    private readonly pages: PageResponder,
    private readonly passkeys: Passkeys,
    private readonly recoveryCodes: RecoveryCodes,
  ) {}

  @Get('passkeys')
  @ForPerson({ recently: true })
  async list(
    @PersonOf() { account, session }: Person,
    @Req() { headers }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (account.issuer !== null) return this.pages.redirect(reply, '/account');
    const request = { host: headers.host, binding: session.id };
    const [passkeys, options] = await Promise.all([
      this.passkeys.list(account.id),
      this.passkeys.creationOptions(account, request),
    ]);
    const refused = this.pages.takeOutcome<RefusedForm>(reply);
    this.pages.show(reply, (visit) => {
      const label = browserName(visit, headers['user-agent'] ?? '');
      return passkeysPage(visit, { passkeys, options, label, ...refused });
    });
  }

  @Post('passkeys')
  @ForPerson({ recently: true })
  async add(
    @PersonOf() { account, session }: Person,
    @FormOf() form: Form,
    @Req() { headers }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (account.issuer !== null) return this.pages.redirect(reply, '/account');
    const { label = '', credential = '' } = form;
    try {
      const created = { host: headers.host, binding: session.id, label, credential };
      await this.passkeys.add(account.id, created, session);
    } catch (error) {
      const problems = problemsOf(visitFor(reply).texts, error);
      const refused: RefusedForm = { entered: label.slice(0, 64), problems };
      return this.pages.redirectRefused(reply, '/passkeys', refused, error);
    }
    // Without recovery codes, a lost passkey locks the user out.
    const hasCodes = (await this.recoveryCodes.countUnused(account.id)) > 0;
    this.pages.redirect(reply, hasCodes ? '/account?done' : '/recovery-codes');
  }

  @Post('passkeys/remove')
  @ForPerson({ recently: true, next: '/passkeys' })
  async remove(
    @PersonOf() { account, session }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.passkeys.remove(account.id, form['id'] ?? '', session);
    this.pages.redirect(reply, '/account?done');
  }
}
