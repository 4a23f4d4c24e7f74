import { Get, Inject, Post, Req, Res } from '@nestjs/common';
import { scopes } from '#contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { RecoveryCodes } from '../people/recovery-codes.js';
import { Refusal } from '../people/refusal.js';
import { SecondFactor } from '../people/second-factor.js';
import type { NewTotp } from '../people/totp.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { nextPath } from './next-path.rules.js';
import { keepPath, PageResponder, visitFor } from './page.responder.js';
import { ForPerson, PageController, type Person, PersonOf } from './person.guard.js';
import { problemsOf, type RefusedForm } from './refusal.texts.js';
import { keepAppPasswordsPage } from './views/app-passwords.view.js';
import type { RefusedSecondStep } from './views/second-step.forms.js';
import {
  appPasswordPage,
  type CreatedAppPassword,
  recoveryCodesPage,
  shownAppPasswordPage,
  shownRecoveryCodesPage,
  totpOffPage,
  totpPage,
} from './views/security.view.js';

const day = 86_400_000;
/** Lifetimes of app passwords in days by choice. Any other choice means no expiry. */
const expiries: Readonly<Record<string, number | undefined>> = { month: 30, year: 365 };

/** Serves pages of the second step, recovery codes and app passwords, after a recent sign-in. */
@PageController()
export class SecurityController {
  constructor(
    private readonly pages: PageResponder,
    private readonly secondFactor: SecondFactor,
    private readonly recoveryCodes: RecoveryCodes,
    private readonly appPasswords: AppPasswords,
    @Inject(CONFIG) private readonly config: Pick<AccountConfig, 'API_URLS'>,
  ) {}

  /** Shows the unconfirmed TOTP key, or a new key, so that a reload shows the same key. */
  @Get('totp')
  @ForPerson({ recently: true })
  async setUp(@PersonOf() person: Person, @Res() reply: FastifyReply): Promise<void> {
    if (person.account.hasTotp) return this.pages.redirect(reply, '/totp/off');
    const key = await this.key(person);
    const isRefused = this.pages.takeOutcome(reply) !== undefined;
    this.pages.show(reply, (visit) => totpPage(visit, { key, isRefused }));
  }

  @Post('totp')
  @ForPerson({ recently: true })
  async confirm(
    @PersonOf() person: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { account } = person;
    if (account.hasTotp) return this.pages.redirect(reply, '/account?done');
    try {
      await this.secondFactor.totp.confirm(account.id, form['code'] ?? '');
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'code')) throw error;
      return this.pages.redirectRefused(reply, '/totp', {}, error);
    }
    // Without recovery codes, a lost phone locks the user out.
    const hasCodes = (await this.recoveryCodes.countUnused(account.id)) > 0;
    this.pages.redirect(reply, hasCodes ? '/account?done' : '/recovery-codes');
  }

  @Get('totp/off')
  @ForPerson({ recently: true })
  off(@PersonOf() { account }: Person, @Res() reply: FastifyReply): void {
    if (!account.hasTotp) return this.pages.redirect(reply, '/account');
    const refused = this.pages.takeOutcome<RefusedSecondStep>(reply);
    this.pages.show(reply, (visit) => totpOffPage(visit, refused));
  }

  @Post('totp/off')
  @ForPerson({ recently: true })
  async switchOff(
    @PersonOf() { account, session }: Person,
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (!account.hasTotp) return this.pages.redirect(reply, '/account?done');
    const kind = form['recovery'] === undefined ? 'code' : 'recovery';
    const by = { id: account.id, name: account.name, session: session.id };
    try {
      const proof = { kind, code: form[kind] ?? '' } as const;
      await this.secondFactor.switchOff(by, proof, this.pages.cookies.read(request));
    } catch (error) {
      const isWrong = error instanceof Refusal && error.code === 'code';
      const problem = isWrong ? undefined : problemsOf(visitFor(reply).texts, error).form;
      const refused: RefusedSecondStep = { form: kind, problem };
      return this.pages.redirectRefused(reply, '/totp/off', refused, error);
    }
    // A recovery code suspends app passwords.
    this.pages.redirect(reply, kind === 'code' ? '/account?done' : keepPath);
  }

  @Get('recovery-codes')
  @ForPerson({ recently: true })
  codes(@Res() reply: FastifyReply): void {
    this.pages.show(reply, recoveryCodesPage);
  }

  @Post('recovery-codes')
  @ForPerson({ recently: true })
  async createCodes(
    @PersonOf() { account, session }: Person,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const codes = await this.recoveryCodes.create(account.id, session);
    this.pages.redirectWithOutcome(reply, '/recovery-codes/shown', { codes });
  }

  /** Shows new codes once. */
  @Get('recovery-codes/shown')
  @ForPerson()
  shownCodes(@PersonOf() { account }: Person, @Res() reply: FastifyReply): void {
    const created = this.pages.takeOutcome<{ codes: string[] }>(reply);
    if (!created) return this.pages.redirect(reply, '/account');
    this.pages.show(reply, (visit) =>
      shownRecoveryCodesPage(visit, { ...created, account: account.name ?? account.id }),
    );
  }

  @Get('app-passwords')
  @ForPerson({ recently: true })
  appPassword(@Res() reply: FastifyReply): void {
    const refused = this.pages.takeOutcome<RefusedForm>(reply) ?? {};
    this.pages.show(reply, (visit) => appPasswordPage(visit, refused));
  }

  @Post('app-passwords')
  @ForPerson({ recently: true })
  async createAppPassword(
    @PersonOf() { account, session }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const days = expiries[form['expires'] ?? ''];
    const properties = {
      label: (form['label'] ?? '').trim(),
      scopes: scopes.filter((scope) => form['rights'] !== 'read' || scope.startsWith('read:')),
      expiresAt: days === undefined ? undefined : new Date(Date.now() + days * day),
    };
    try {
      const { secret, credential } = await this.appPasswords.create(
        account.id,
        properties,
        session,
      );
      const created: CreatedAppPassword = {
        label: credential.label,
        name: account.name,
        secret,
        server: this.config.API_URLS?.[0],
      };
      this.pages.redirectWithOutcome(reply, '/app-passwords/shown', created);
    } catch (error) {
      const problems = problemsOf(visitFor(reply).texts, error);
      const refused: RefusedForm = {
        entered: properties.label.slice(0, 64),
        problems,
      };
      this.pages.redirectRefused(reply, '/app-passwords', refused, error);
    }
  }

  /** Shows a new app password once. */
  @Get('app-passwords/shown')
  @ForPerson()
  shownAppPassword(@Res() reply: FastifyReply): void {
    const created = this.pages.takeOutcome<CreatedAppPassword>(reply);
    if (!created) return this.pages.redirect(reply, '/account');
    this.pages.show(reply, (visit) => shownAppPasswordPage(visit, created));
  }

  /** Shows the suspended app passwords; without any, redirects to `next` or the account page. */
  @Get('app-passwords/keep')
  @ForPerson({ recently: true })
  async suspended(
    @PersonOf() { account }: Person,
    @QueryOf() query: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const next = nextPath(query['next']);
    const all = await this.appPasswords.list(account.id);
    const appPasswords = all.filter(({ suspendedAt }) => suspendedAt !== null);
    if (appPasswords.length === 0) return this.pages.redirect(reply, next ?? '/account');
    this.pages.show(reply, (visit) => keepAppPasswordsPage(visit, { appPasswords, next }));
  }

  /** Keeps the ticked app passwords: names of the form's fields are their ids. */
  @Post('app-passwords/keep')
  @ForPerson({ recently: true })
  async keep(
    @PersonOf() { account, session }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.appPasswords.keep(account.id, Object.keys(form), session.id);
    this.pages.redirect(reply, nextPath(form['next']) ?? '/account?done');
  }

  private async key({ account, session }: Person): Promise<NewTotp> {
    return (
      (await this.secondFactor.totp.readPending(account.id)) ??
      this.secondFactor.totp.createSecret(account.id, session.id)
    );
  }
}
