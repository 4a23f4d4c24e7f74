import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import { Sessions } from '../people/sessions.js';
import { type CodeRequired, SignIn, type SignInResult } from '../people/sign-in.js';
import { RelyingParty } from '../relying.party/relying-party.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { nextPath, withNext } from './next-path.rules.js';
import { isBrowser, keepPath, PageResponder, startPath, visitFor } from './page.responder.js';
import { PageController, type Person, PersonOf } from './person.guard.js';
import { type Problems, problemsOf, type RefusedForm } from './refusal.texts.js';
import { codePage, type SecondStep, type SignInNotice, signInPage } from './views/sign-in.view.js';

const notices: Readonly<Record<string, SignInNotice | undefined>> = {
  out: 'signedOut',
  password: 'newPassword',
};

/** Lifetime of the page of the second step in seconds, equal to that of its ticket. */
const stepSeconds = 10 * 60;

interface RefusedSignIn extends RefusedForm {
  readonly notice?: SignInNotice;
}

/** Serves sign-in in one or two steps, and sign-out. */
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
    if (person && next === undefined) return this.pages.redirect(reply, startPath);
    const { entered, notice, problems } = this.pages.takeOutcome<RefusedSignIn>(reply) ?? {};
    const hasEndedSession = !person && this.pages.cookies.read(reply.request).session !== undefined;
    const name = entered ?? (person && (person.account.name ?? ''));
    this.pages.show(reply, (visit) =>
      signInPage(visit, {
        next,
        again: person !== undefined,
        name,
        problem: problems?.form,
        notice:
          notice ??
          notices[query['notice'] ?? ''] ??
          (hasEndedSession && !problems ? 'ended' : undefined),
        canRegister: this.registration.isOpen,
        provider: this.party.host,
      }),
    );
  }

  @Post('sign-in')
  async signInWithPassword(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const next = nextPath(form['next']);
    if (this.party.host !== undefined)
      return this.pages.redirect(reply, withNext('/sign-in', next));
    const entered = { name: (form['name'] ?? '').trim(), password: form['password'] ?? '' };
    try {
      this.proceed(
        reply,
        await this.signIn.signIn(entered, this.pages.cookies.read(request)),
        next,
      );
    } catch (error) {
      const refused = {
        entered: entered.name.slice(0, 64),
        problems: this.problemsOf(reply, error),
      };
      this.pages.redirectRefused(reply, withNext('/sign-in', next), refused, error);
    }
  }

  /** Shows the second step, which can be reloaded until its ticket expires. */
  @Get('sign-in/code')
  codeForm(@Res() reply: FastifyReply): void {
    const step = this.pages.readOutcome<SecondStep>(reply);
    if (!step) return this.pages.redirect(reply, '/sign-in');
    this.pages.show(reply, (visit) => codePage(visit, step));
  }

  @Post('sign-in/code')
  code(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.completeSecondStep('code', form, request, reply);
  }

  @Post('sign-in/recovery')
  recovery(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.completeSecondStep('recovery', form, request, reply);
  }

  @Post('sign-out')
  async out(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { session } = this.pages.cookies.read(request);
    if (session !== undefined) await this.sessions.endByCookie(session);
    this.pages.cookies.signOut(reply);
    this.pages.redirect(reply, '/sign-in?notice=out');
  }

  private async completeSecondStep(
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
          ? await this.signIn.completeWithCode(ticket, form['code'] ?? '', browser)
          : await this.signIn.completeWithRecoveryCode(ticket, form['recovery'] ?? '', browser);
      // A recovery code suspends app passwords.
      this.proceed(reply, signedIn, kind === 'code' ? next : withNext(keepPath, next));
    } catch (error) {
      const code = error instanceof Refusal ? error.code : undefined;
      if (code === 'ticket' || code === 'credentials')
        return this.pages.redirectRefused(
          reply,
          withNext('/sign-in', next),
          { notice: 'tooLate' },
          error,
        );
      const problem = code === 'code' ? undefined : this.problemsOf(reply, error).form;
      const step: SecondStep = { ticket, next, refused: { form: kind, problem } };
      if (!isBrowser(reply.request)) throw error;
      this.pages.redirectWithOutcome(reply, '/sign-in/code', step, stepSeconds);
    }
  }

  private proceed(
    reply: FastifyReply,
    outcome: SignInResult | CodeRequired,
    next: string | undefined,
  ): void {
    if ('needs' in outcome) {
      const step: SecondStep = { ticket: outcome.ticket, next };
      return this.pages.redirectWithOutcome(reply, '/sign-in/code', step, stepSeconds);
    }
    this.pages.cookies.clearOutcome(reply, '/sign-in/code');
    this.pages.cookies.signIn(reply, outcome);
    this.pages.redirect(reply, next ?? startPath);
  }

  private problemsOf(reply: FastifyReply, error: unknown): Problems {
    const { texts } = visitFor(reply);
    return error instanceof Refusal && error.code === 'credentials'
      ? { form: texts.signIn.refused }
      : problemsOf(texts, error);
  }
}
