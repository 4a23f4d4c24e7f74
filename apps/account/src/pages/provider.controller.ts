import { Get, NotFoundException, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SignIn } from '../people/sign-in.js';
import { RelyingParty, maxLoginSeconds } from '../relying.party/relying-party.js';
import { type Form, FormOf } from './form.js';
import { nextPath, withNext } from './next-path.rules.js';
import { PageController } from './person.guard.js';
import { PageResponder, startPath } from './page.responder.js';

/** Serves sign-in by the operator's OpenID Connect provider. */
@PageController()
export class ProviderController {
  constructor(
    private readonly pages: PageResponder,
    private readonly party: RelyingParty,
    private readonly signIn: SignIn,
  ) {}

  @Post('sign-in/provider')
  async start(@FormOf() form: Form, @Res() reply: FastifyReply): Promise<void> {
    const { host } = this.party;
    if (host === undefined) throw new NotFoundException();
    const { url, ticket } = await this.party.startLogin(nextPath(form['next']));
    this.pages.cookies.setProviderTicket(reply, ticket, maxLoginSeconds);
    this.pages.leaveSite(reply, url.href, host);
  }

  /** Completes the sign-in. Redirects to the choice of a name if the account has none. */
  @Get('sign-in/provider/callback')
  async finish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (this.party.host === undefined) throw new NotFoundException();
    const ticket = this.pages.cookies.takeProviderTicket(request, reply);
    const { account, next } = await this.party.finishLogin(request.url.split('?')[1] ?? '', ticket);
    this.pages.cookies.signIn(
      reply,
      await this.signIn.signInWithoutPassword(account.id, this.pages.cookies.read(request)),
    );
    const to = nextPath(next) ?? startPath;
    this.pages.redirect(reply, account.name === null ? withNext('/name', to) : to);
  }
}
