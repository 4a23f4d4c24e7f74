import { Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Passkeys } from '../people/passkeys.js';
import { Refusal } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import { SecondFactor } from '../people/second-factor.js';
import { Sessions } from '../people/sessions.js';
import { type CodeRequired, SignIn, type SignInResult } from '../people/sign-in.js';
import { RelyingParty } from '../relying-party/relying-party.js';
import { nextPath, withNext } from './next-path.rules.js';
import { keepAppPasswordsPath, type PageContext, startPath } from './page-context.js';
import { PageController } from './person.guard.js';
import { problemTextsOf, type RefusedForm } from './refusal-texts.js';
import type { RefusedSecondStep } from './views/second-step-forms.js';
import {
  codePage,
  type SecondFactors,
  type SecondStep,
  type SignInNotice,
  signInPage,
} from './views/sign-in.view.js';

const noticesByQuery: Readonly<Record<string, SignInNotice | undefined>> = {
  out: 'signedOut',
  password: 'newPassword',
};

/** Lifetime of the page of the second step in seconds, equal to the lifetime of its ticket. */
const secondStepSeconds = 10 * 60;

interface RefusedSignIn extends RefusedForm {
  readonly notice?: SignInNotice;
}

/** Serves sign-in by password in one or two steps, or by a passkey, and sign-out. */
@PageController()
export class SignInController {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly registration: Registration,
    private readonly relyingParty: RelyingParty,
    private readonly passkeys: Passkeys,
    private readonly secondFactor: SecondFactor,
  ) {}

  @Get('sign-in')
  async showSignInForm(@Res() { page }: FastifyReply): Promise<void> {
    const { query, request, reply, cookies } = page;
    const { person } = request;
    const next = nextPath(query['next']);
    if (person && next === undefined) return page.redirect(startPath);
    const { entered, notice, problems } = page.takeOutcome<RefusedSignIn>() ?? {};
    const hasEndedSession = !person && page.browser.session !== undefined;
    const passkey =
      this.relyingParty.host === undefined
        ? await this.passkeys.requestOptions({
            host: request.headers.host,
            binding: cookies.bindChallenge(request, reply),
          })
        : undefined;
    page.show(signInPage, {
      next,
      again: person !== undefined,
      name: entered ?? (person && (person.account.name ?? '')),
      problem: problems?.form,
      notice:
        notice ??
        noticesByQuery[query['notice'] ?? ''] ??
        (hasEndedSession && !problems ? 'ended' : undefined),
      canRegister: this.registration.isOpenToEverybody,
      provider: this.relyingParty.host,
      passkey,
    });
  }

  @Post('sign-in')
  async signInWithPassword(@Res() { page }: FastifyReply): Promise<void> {
    const { form } = page;
    const next = nextPath(form['next']);
    const path = withNext('/sign-in', next);
    if (this.relyingParty.host !== undefined) return page.redirect(path);
    const entered = { name: (form['name'] ?? '').trim(), password: form['password'] ?? '' };
    try {
      continueSignIn(page, await this.signIn.signIn(entered, page.browser), next);
    } catch (error) {
      const wrong = { form: page.visit.texts.signIn.refused };
      page.refuse(path, error, { entered: entered.name, wrong });
    }
  }

  /** Shows the second step. A reload works until the ticket expires. */
  @Get('sign-in/code')
  async showSecondStep(@Res() { page }: FastifyReply): Promise<void> {
    const step = page.readOutcome<SecondStep>();
    if (!step) return page.redirect('/sign-in');
    let secondFactors: SecondFactors;
    try {
      const account = await this.secondFactor.readTicket(step.ticket);
      const passkeyRequest = { host: page.request.headers.host, binding: step.ticket };
      secondFactors = {
        hasTotp: account.totpConfirmedAt !== null,
        passkey:
          account.passkeyCount > 0
            ? await this.passkeys.requestOptions(passkeyRequest, account.id)
            : undefined,
      };
    } catch (error) {
      return redirectToNewSignIn(page, step.next, error);
    }
    page.show(codePage, { ...step, ...secondFactors });
  }

  @Post('sign-in/code')
  completeWithCode(@Res() { page }: FastifyReply): Promise<void> {
    return this.completeSecondStep('code', page);
  }

  @Post('sign-in/recovery')
  completeWithRecoveryCode(@Res() { page }: FastifyReply): Promise<void> {
    return this.completeSecondStep('recovery', page);
  }

  /** Signs in by a passkey: as second step if the form has a ticket, otherwise without password. */
  @Post('sign-in/passkey')
  async signInWithPasskey(@Res() { page }: FastifyReply): Promise<void> {
    const { form, request, browser, cookies } = page;
    if (form['ticket'] !== undefined) return this.completeSecondStep('passkey', page);
    const next = nextPath(form['next']);
    const path = withNext('/sign-in', next);
    if (this.relyingParty.host !== undefined) return page.redirect(path);
    const passkeyResponse = {
      host: request.headers.host,
      binding: cookies.challengeBinding(request) ?? '',
      credential: form['credential'] ?? '',
    };
    try {
      continueSignIn(page, await this.signIn.signInWithPasskey(passkeyResponse, browser), next);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const problems = { form: page.visit.texts.signIn.passkeyRefused };
      page.redirectRefused(path, { problems }, error);
    }
  }

  @Post('sign-out')
  async signOut(@Res() { page }: FastifyReply): Promise<void> {
    const { session } = page.browser;
    if (session !== undefined) await this.sessions.endByCookie(session);
    page.cookies.clearSessionCookie(page.reply);
    page.redirect('/sign-in?notice=out');
  }

  private async completeSecondStep(
    kind: RefusedSecondStep['form'],
    page: PageContext,
  ): Promise<void> {
    const { form, browser } = page;
    const next = nextPath(form['next']);
    const ticket = form['ticket'] ?? '';
    try {
      const completeByKind = {
        code: () => this.signIn.completeWithCode(ticket, form['code'] ?? '', browser),
        recovery: () =>
          this.signIn.completeWithRecoveryCode(ticket, form['recovery'] ?? '', browser),
        passkey: () => {
          const { host } = page.request.headers;
          const passkeyResponse = { host, binding: ticket, credential: form['credential'] ?? '' };
          return this.signIn.completeWithPasskey(ticket, passkeyResponse, browser);
        },
      };
      const signInResult = await completeByKind[kind]();
      // A recovery code suspends app passwords, so the person chooses the app passwords to keep.
      continueSignIn(
        page,
        signInResult,
        kind === 'recovery' ? withNext(keepAppPasswordsPath, next) : next,
      );
    } catch (error) {
      const refusalCode = error instanceof Refusal ? error.code : undefined;
      if (refusalCode === 'ticket' || refusalCode === 'credentials')
        return redirectToNewSignIn(page, next, error);
      const problem =
        refusalCode === 'code' ? undefined : problemTextsOf(page.visit.texts, error).form;
      const step: SecondStep = { ticket, next, refused: { form: kind, problem } };
      page.redirectRefused('/sign-in/code', step, error, secondStepSeconds);
    }
  }
}

/** Redirects to a new sign-in, because the ticket has expired or the password has changed. */
function redirectToNewSignIn(page: PageContext, next: string | undefined, error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
  const refused: RefusedSignIn = { notice: 'tooLate' };
  page.redirectRefused(withNext('/sign-in', next), refused, error);
}

/** Sets the cookies of a sign-in, or redirects to the second step. */
function continueSignIn(
  page: PageContext,
  outcome: SignInResult | CodeRequired,
  next: string | undefined,
): void {
  if ('needs' in outcome) {
    const step: SecondStep = { ticket: outcome.ticket, next };
    return page.redirectWithOutcome('/sign-in/code', step, secondStepSeconds);
  }
  page.cookies.clearOutcome(page.reply, '/sign-in/code');
  page.signIn(outcome);
  page.redirect(next ?? startPath);
}
