import { Get, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Emails } from '../people/emails.js';
import { type Link, Links } from '../people/links.js';
import { PasswordReset } from '../people/password-reset.js';
import { Refusal } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import { SignIn } from '../people/sign-in.js';
import type { Page, Visit } from './document.js';
import { afterResetPath, type PageContext } from './page-context.js';
import { PageController } from './person.guard.js';
import type { RefusedForm } from './refusal-texts.js';
import { readCredentials } from './registration.controller.js';
import { registerPage, resetPage, verifyPage } from './views/registration.view.js';

/** Returns the page of a one-time link. Each kind of link has its own page. */
function linkPage(visit: Visit, content: { link: Link; action: string } & RefusedForm): Page {
  const { link, ...form } = content;
  if (link.kind === 'verify') return verifyPage(visit, { ...form, email: link.email ?? '' });
  if (link.kind === 'reset') return resetPage(visit, { ...form, name: link.name ?? '' });
  return registerPage(visit, { ...form, kind: link.kind });
}

/** Serves the pages of one-time links. A GET changes nothing, because mail programs open links. */
@PageController()
export class LinkController {
  constructor(
    private readonly links: Links,
    private readonly registration: Registration,
    private readonly passwordReset: PasswordReset,
    private readonly emails: Emails,
    private readonly signIn: SignIn,
  ) {}

  @Get('links/:secret')
  async showLink(@Param('secret') secret: string, @Res() { page }: FastifyReply): Promise<void> {
    const link = await this.readLink(secret);
    const action = `/links/${secret}`;
    page.show(linkPage, { link, action, ...page.takeOutcome<RefusedForm>() });
  }

  @Post('links/:secret')
  async useLink(@Param('secret') secret: string, @Res() { page }: FastifyReply): Promise<void> {
    const credentials = readCredentials(page);
    const link = await this.readLink(secret);
    let accountId: string | undefined;
    try {
      accountId = await this.executeLink(link.kind, secret, page);
    } catch (error) {
      return page.refuse(`/links/${secret}`, error, { entered: credentials.name });
    }
    if (link.kind === 'verify') return page.redirectToDone({ message: 'verified' });
    if (accountId === undefined) return page.redirect(afterResetPath);
    page.signIn(await this.signIn.signInWithoutPassword(accountId, page.browser, true));
    page.redirect('/connect');
  }

  /** Executes the action of a link. @returns the id of a new account, or undefined. */
  private async executeLink(
    kind: Link['kind'],
    secret: string,
    page: PageContext,
  ): Promise<string | undefined> {
    const { browser } = page;
    const credentials = readCredentials(page);
    if (kind === 'verify') await this.emails.verifyAddress(secret, browser);
    else if (kind === 'reset') {
      const device = await this.passwordReset.resetByLink(secret, credentials.password, browser);
      page.cookies.setDeviceCookie(page.reply, device);
    } else return (await this.registration.registerByLink(secret, credentials, browser.address)).id;
    return undefined;
  }

  private async readLink(secret: string): Promise<Link> {
    const link = await this.links.readLink(secret);
    if (!link) throw new Refusal('link');
    return link;
  }
}
