import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Passkeys } from '../people/passkeys.js';
import { Refusal } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import { SecondFactor } from '../people/second-factor.js';
import { Sessions } from '../people/sessions.js';
import { type CodeRequired, SignIn, type SignInResult } from '../people/sign-in.js';
import { RelyingParty } from '../relying.party/relying-party.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { nextPath, withNext } from './next-path.rules.js';
import { isBrowser, keepPath, PageResponder, startPath, visitFor } from './page.responder.js';
import { PageController, type Person, PersonOf } from './person.guard.js';
import { type Problems, problemsOf, type RefusedForm } from './refusal.texts.js';
import type { RefusedSecondStep } from './views/second-step.forms.js';
import {
  codePage,
  type SecondFactors,
  type SecondStep,
  type SignInNotice,
  signInPage,
} from './views/sign-in.view.js';

const notices: Readonly<Record<string, SignInNotice | undefined>> = {
  out: 'signedOut',
  password: 'newPassword',
};

/** Lifetime of the page of the second step in seconds, equal to that of its ticket. */
const stepSeconds = 10 * 60;

interface RefusedSignIn extends RefusedForm {
  readonly notice?: SignInNotice;
}

/** Serves sign-in by password in one or two steps, or by a passkey, and sign-out. */
@PageController()
export class SignInController {
  constructor(
    private readonly pages: PageResponder,
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly registration: Registration,
    private readonly party: RelyingParty,
    private readonly passkeys: Passkeys,
    private readonly secondFactor: SecondFactor,
  ) {}

  @Get('sign-in')
  async form(
    @QueryOf() query: Form,
    @PersonOf() person: Person | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const next = nextPath(query['next']);
    if (person && next === undefined) return this.pages.redirect(reply, startPath);
    const { entered, notice, problems } = this.pages.takeOutcome<RefusedSignIn>(reply) ?? {};
    const hasEndedSession = !person && this.pages.cookies.read(request).session !== undefined;
    const name = entered ?? (person && (person.account.name ?? ''));
    const passkey =
      this.party.host === undefined
        ? await this.passkeys.requestOptions({
            host: request.headers.host,
            binding: this.pages.cookies.bindChallenge(request, reply),
          })
        : undefined;
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
        passkey,
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
  async codeForm(@Req() { headers }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const step = this.pages.readOutcome<SecondStep>(reply);
    if (!step) return this.pages.redirect(reply, '/sign-in');
    let factors: SecondFactors;
    try {
      const account = await this.secondFactor.readTicket(step.ticket);
      const request = { host: headers.host, binding: step.ticket };
      factors = {
        hasTotp: account.totpConfirmedAt !== null,
        passkey:
          account.passkeyCount > 0
            ? await this.passkeys.requestOptions(request, account.id)
            : undefined,
      };
    } catch (error) {
      return this.redirectTooLate(reply, step.next, error);
    }
    this.pages.show(reply, (visit) => codePage(visit, { ...step, ...factors }));
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

  /** Signs in with a passkey: after the password with a ticket, otherwise without a password. */
  @Post('sign-in/passkey')
  async passkey(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (form['ticket'] !== undefined)
      return this.completeSecondStep('passkey', form, request, reply);
    const next = nextPath(form['next']);
    const path = withNext('/sign-in', next);
    if (this.party.host !== undefined) return this.pages.redirect(reply, path);
    const response = {
      host: request.headers.host,
      binding: this.pages.cookies.challengeBinding(request) ?? '',
      credential: form['credential'] ?? '',
    };
    try {
      const browser = this.pages.cookies.read(request);
      this.proceed(reply, await this.signIn.signInWithPasskey(response, browser), next);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const problems = { form: visitFor(reply).texts.signIn.passkeyRefused };
      this.pages.redirectRefused(reply, path, { problems }, error);
    }
  }

  @Post('sign-out')
  async out(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { session } = this.pages.cookies.read(request);
    if (session !== undefined) await this.sessions.endByCookie(session);
    this.pages.cookies.signOut(reply);
    this.pages.redirect(reply, '/sign-in?notice=out');
  }

  private async completeSecondStep(
    kind: RefusedSecondStep['form'],
    form: Form,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    const next = nextPath(form['next']);
    const ticket = form['ticket'] ?? '';
    const browser = this.pages.cookies.read(request);
    try {
      const complete = {
        code: () => this.signIn.completeWithCode(ticket, form['code'] ?? '', browser),
        recovery: () =>
          this.signIn.completeWithRecoveryCode(ticket, form['recovery'] ?? '', browser),
        passkey: () => {
          const { host } = request.headers;
          const response = { host, binding: ticket, credential: form['credential'] ?? '' };
          return this.signIn.completeWithPasskey(ticket, response, browser);
        },
      };
      const signedIn = await complete[kind]();
      // A recovery code suspends app passwords.
      this.proceed(reply, signedIn, kind === 'recovery' ? withNext(keepPath, next) : next);
    } catch (error) {
      const code = error instanceof Refusal ? error.code : undefined;
      if (code === 'ticket' || code === 'credentials')
        return this.redirectTooLate(reply, next, error);
      const problem = code === 'code' ? undefined : this.problemsOf(reply, error).form;
      const step: SecondStep = { ticket, next, refused: { form: kind, problem } };
      if (!isBrowser(reply.request)) throw error;
      this.pages.redirectWithOutcome(reply, '/sign-in/code', step, stepSeconds);
    }
  }

  /** Redirects to the sign-in after an expired ticket or a changed password. */
  private redirectTooLate(reply: FastifyReply, next: string | undefined, error: unknown): void {
    if (!(error instanceof Refusal)) throw error;
    const refused: RefusedSignIn = { notice: 'tooLate' };
    this.pages.redirectRefused(reply, withNext('/sign-in', next), refused, error);
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
