import { Get, NotFoundException, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { SignIn } from '../people/sign-in.js';
import { RelyingParty, maxLoginSeconds } from '../relying-party/relying-party.js';
import { nextPath, withNext } from './next-path.rules.js';
import { startPath } from './page-context.js';
import { PageController } from './person.guard.js';

/** Serves sign-in by the operator's OpenID Connect provider. */
@PageController()
export class ProviderController {
  constructor(
    private readonly relyingParty: RelyingParty,
    private readonly signIn: SignIn,
  ) {}

  @Post('sign-in/provider')
  async startSignIn(@Res() { page }: FastifyReply): Promise<void> {
    const { host } = this.relyingParty;
    if (host === undefined) throw new NotFoundException();
    const { url, ticket } = await this.relyingParty.startLogin(nextPath(page.form['next']));
    page.cookies.setProviderTicket(page.reply, ticket, maxLoginSeconds);
    page.leaveSite(url.href, host);
  }

  /** Completes the sign-in. An account without a name then opens the page `/name`. */
  @Get('sign-in/provider/callback')
  async finishSignIn(@Res() { page }: FastifyReply): Promise<void> {
    if (this.relyingParty.host === undefined) throw new NotFoundException();
    const { request, reply, browser } = page;
    const ticket = page.cookies.takeProviderTicket(request, reply);
    const { account, next } = await this.relyingParty.finishLogin(
      request.url.split('?')[1] ?? '',
      ticket,
    );
    page.signIn(await this.signIn.signInWithoutPassword(account.id, browser));
    const nextOrStart = nextPath(next) ?? startPath;
    page.redirect(account.name === null ? withNext('/name', nextOrStart) : nextOrStart);
  }
}
