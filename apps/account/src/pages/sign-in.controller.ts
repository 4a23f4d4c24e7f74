import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import { Sessions } from '../people/sessions.js';
import { type NeedsCode, SignIn, type SignedIn } from '../people/sign-in.js';
import { RelyingParty } from '../relying.party/relying-party.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { nextPath } from './next-path.rule.js';
import { keepPath, PageResponder } from './page.responder.js';
import { PageController, type Person, PersonOf } from './person.guard.js';
import { codePage, type SignInNotice, signInPage } from './views/sign-in.view.js';

const notices: Readonly<Record<string, SignInNotice | undefined>> = {
  out: 'signedOut',
  password: 'newPassword',
};

/** Pages for sign-in in one or two steps, and for sign-out. */
@PageController()
export class SignInController {
  constructor(
    private readonly pages: PageResponder,
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly registration: Registration,
    private readonly party: RelyingParty,
  ) {}

  @Get('sign-in')
  form(
    @QueryOf() query: Form,
    @PersonOf() person: Person | undefined,
    @Res() reply: FastifyReply,
  ): void {
    const next = nextPath(query['next']);
    if (person && next === undefined) return this.pages.redirect(reply, '/');
    this.show(reply, {
      next,
      ...(person && { again: true, name: person.account.name ?? '' }),
      notice: notices[query['notice'] ?? ''],
    });
  }

  @Post('sign-in')
  async enter(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const next = nextPath(form['next']);
    if (this.party.host !== undefined) return this.show(reply, { next });
    const entered = { name: (form['name'] ?? '').trim(), password: form['password'] ?? '' };
    try {
      this.proceed(
        reply,
        await this.signIn.signIn(entered, this.pages.cookies.read(request)),
        next,
      );
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'credentials')) throw error;
      this.show(reply, { next, name: entered.name.slice(0, 64), isRefused: true });
    }
  }

  @Post('sign-in/code')
  code(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.second('code', form, request, reply);
  }

  @Post('sign-in/recovery')
  recovery(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.second('recovery', form, request, reply);
  }

  @Post('sign-out')
  async out(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { session } = this.pages.cookies.read(request);
    if (session !== undefined) await this.sessions.endByCookie(session);
    this.pages.cookies.signOut(reply);
    this.pages.redirect(reply, '/sign-in?notice=out');
  }

  private async second(
    kind: 'code' | 'recovery',
    form: Form,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    const next = nextPath(form['next']);
    const ticket = form['ticket'] ?? '';
    const browser = this.pages.cookies.read(request);
    try {
      const signedIn =
        kind === 'code'
          ? await this.signIn.withCode(ticket, form['code'] ?? '', browser)
          : await this.signIn.withRecoveryCode(ticket, form['recovery'] ?? '', browser);
      // A recovery code suspends app passwords.
      this.proceed(reply, signedIn, kind === 'code' ? next : keepPathTo(next));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === 'ticket' || error.code === 'credentials')
        this.show(reply, { next, notice: 'tooLate' });
      else if (error.code === 'code')
        this.pages.show(reply, (visit) => codePage(visit, { ticket, next, refused: kind }));
      else throw error;
    }
  }

  private proceed(
    reply: FastifyReply,
    outcome: SignedIn | NeedsCode,
    next: string | undefined,
  ): void {
    if ('needs' in outcome) {
      const { ticket } = outcome;
      return this.pages.show(reply, (visit) => codePage(visit, { ticket, next }));
    }
    this.pages.cookies.signIn(reply, outcome);
    this.pages.redirect(reply, next ?? '/');
  }

  private show(reply: FastifyReply, of: Parameters<typeof signInPage>[1]): void {
    this.pages.show(reply, (visit) =>
      signInPage(visit, {
        canRegister: this.registration.isOpen,
        provider: this.party.host,
        ...of,
      }),
    );
  }
}

function keepPathTo(next: string | undefined): string {
  return next === undefined ? keepPath : `${keepPath}?${new URLSearchParams({ next }).toString()}`;
}
