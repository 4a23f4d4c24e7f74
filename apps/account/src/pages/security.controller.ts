import { Get, Inject, Post, Res } from '@nestjs/common';
import { scopes } from '#contracts';
import type { FastifyReply } from 'fastify';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { RecoveryCodes } from '../people/recovery-codes.js';
import { Refusal } from '../people/refusal.js';
import { SecondFactor } from '../people/second-factor.js';
import { nextPath } from './next-path.rules.js';
import { keepAppPasswordsPath } from './page-context.js';
import { ForPerson, PageController } from './person.guard.js';
import { problemTextsOf, type RefusedForm } from './refusal-texts.js';
import { keepAppPasswordsPage } from './views/app-passwords.view.js';
import type { RefusedSecondStep } from './views/second-step-forms.js';
import {
  appPasswordPage,
  type CreatedAppPassword,
  recoveryCodesPage,
  shownAppPasswordPage,
  shownRecoveryCodesPage,
  totpOffPage,
  totpPage,
} from './views/security.view.js';

const dayMs = 86_400_000;
/** Lifetimes of app passwords in days, by the form's choice. Other choices mean no expiry. */
const expiryDaysByChoice: Readonly<Record<string, number | undefined>> = { month: 30, year: 365 };

/** Serves pages of the second step, recovery codes and app passwords, after a recent sign-in. */
@PageController()
export class SecurityController {
  constructor(
    private readonly secondFactor: SecondFactor,
    private readonly recoveryCodes: RecoveryCodes,
    private readonly appPasswords: AppPasswords,
    @Inject(CONFIG) private readonly config: Pick<AccountConfig, 'API_URLS'>,
  ) {}

  /** Creates a TOTP key, or reads it again after a reload, and shows it for confirmation. */
  @Get('totp')
  @ForPerson({ recently: true })
  async showTotpSetup(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    if (account.hasTotp) return page.redirect('/totp/off');
    const { totp } = this.secondFactor;
    const totpKey =
      (await totp.readPending(account.id)) ?? (await totp.createSecret(account.id, session.id));
    page.show(totpPage, { key: totpKey, isRefused: page.takeOutcome() !== undefined });
  }

  @Post('totp')
  @ForPerson({ recently: true })
  async confirmTotp(@Res() { page }: FastifyReply): Promise<void> {
    const { account } = page.person;
    if (account.hasTotp) return page.redirect('/account?done');
    try {
      await this.secondFactor.totp.confirmSecret(account.id, page.form['code'] ?? '');
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'code')) throw error;
      return page.redirectRefused('/totp', {}, error);
    }
    // Without recovery codes, a lost phone locks the user out.
    const hasRecoveryCodes = (await this.recoveryCodes.countUnused(account.id)) > 0;
    page.redirect(hasRecoveryCodes ? '/account?done' : '/recovery-codes');
  }

  @Get('totp/off')
  @ForPerson({ recently: true })
  showTotpOffForm(@Res() { page }: FastifyReply): void {
    if (!page.person.account.hasTotp) return page.redirect('/account');
    page.show(totpOffPage, page.takeOutcome<RefusedSecondStep>());
  }

  @Post('totp/off')
  @ForPerson({ recently: true })
  async switchTotpOff(@Res() { page }: FastifyReply): Promise<void> {
    const { form } = page;
    const { account, session } = page.person;
    if (!account.hasTotp) return page.redirect('/account?done');
    const kind = form['recovery'] === undefined ? 'code' : 'recovery';
    const signedInUser = { id: account.id, name: account.name, session: session.id };
    try {
      const proof = { kind, code: form[kind] ?? '' } as const;
      await this.secondFactor.switchTotpOff(signedInUser, proof, page.browser);
    } catch (error) {
      const isWrongCode = error instanceof Refusal && error.code === 'code';
      const problem = isWrongCode ? undefined : problemTextsOf(page.visit.texts, error).form;
      const refused: RefusedSecondStep = { form: kind, problem };
      return page.redirectRefused('/totp/off', refused, error);
    }
    // A recovery code suspends app passwords, so the person chooses the app passwords to keep.
    page.redirect(kind === 'code' ? '/account?done' : keepAppPasswordsPath);
  }

  @Get('recovery-codes')
  @ForPerson({ recently: true })
  showRecoveryCodesForm(@Res() { page }: FastifyReply): void {
    page.show(recoveryCodesPage, undefined);
  }

  @Post('recovery-codes')
  @ForPerson({ recently: true })
  async createRecoveryCodes(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    const codes = await this.recoveryCodes.replaceAll(account.id, session);
    page.redirectWithOutcome('/recovery-codes/shown', { codes });
  }

  /** Shows new recovery codes once. */
  @Get('recovery-codes/shown')
  @ForPerson()
  showNewRecoveryCodes(@Res() { page }: FastifyReply): void {
    const { account } = page.person;
    const newCodes = page.takeOutcome<{ codes: string[] }>();
    if (!newCodes) return page.redirect('/account');
    page.show(shownRecoveryCodesPage, { ...newCodes, account: account.name ?? account.id });
  }

  @Get('app-passwords')
  @ForPerson({ recently: true })
  showAppPasswordForm(@Res() { page }: FastifyReply): void {
    page.show(appPasswordPage, page.takeOutcome<RefusedForm>() ?? {});
  }

  @Post('app-passwords')
  @ForPerson({ recently: true })
  async createAppPassword(@Res() { page }: FastifyReply): Promise<void> {
    const { form } = page;
    const { account, session } = page.person;
    const expiryDays = expiryDaysByChoice[form['expires'] ?? ''];
    const newAppPassword = {
      label: (form['label'] ?? '').trim(),
      scopes: scopes.filter((scope) => form['rights'] !== 'read' || scope.startsWith('read:')),
      expiresAt: expiryDays === undefined ? undefined : new Date(Date.now() + expiryDays * dayMs),
    };
    try {
      const { secret, credential } = await this.appPasswords.create(
        account.id,
        newAppPassword,
        session,
      );
      const created: CreatedAppPassword = {
        label: credential.label,
        name: account.name,
        secret,
        server: this.config.API_URLS[0],
      };
      page.redirectWithOutcome('/app-passwords/shown', created);
    } catch (error) {
      page.refuse('/app-passwords', error, { entered: newAppPassword.label });
    }
  }

  /** Shows a new app password once. */
  @Get('app-passwords/shown')
  @ForPerson()
  showNewAppPassword(@Res() { page }: FastifyReply): void {
    const created = page.takeOutcome<CreatedAppPassword>();
    if (!created) return page.redirect('/account');
    page.show(shownAppPasswordPage, created);
  }

  /** Shows the suspended app passwords. If none exist, redirects to `next` or the account page. */
  @Get('app-passwords/keep')
  @ForPerson({ recently: true })
  async showSuspendedAppPasswords(@Res() { page }: FastifyReply): Promise<void> {
    const next = nextPath(page.query['next']);
    const allAppPasswords = await this.appPasswords.list(page.person.account.id);
    const appPasswords = allAppPasswords.filter(({ suspendedAt }) => suspendedAt !== null);
    if (appPasswords.length === 0) return page.redirect(next ?? '/account');
    page.show(keepAppPasswordsPage, { appPasswords, next });
  }

  /** Makes the ticked app passwords valid again. Each field name is the id of an app password. */
  @Post('app-passwords/keep')
  @ForPerson({ recently: true })
  async keepAppPasswords(@Res() { page }: FastifyReply): Promise<void> {
    const { form } = page;
    const { account, session } = page.person;
    await this.appPasswords.restoreSuspended(account.id, Object.keys(form), session.id);
    page.redirect(nextPath(form['next']) ?? '/account?done');
  }
}
