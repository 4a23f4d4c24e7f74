import { Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Account } from '../people/accounts.js';
import { Refusal } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import { SignIn } from '../people/sign-in.js';
import { nextPath, withNext } from './next-path.rules.js';
import type { PageContext } from './page-context.js';
import { PageController } from './person.guard.js';
import type { RefusedForm } from './refusal-texts.js';
import { registerPage } from './views/registration.view.js';

/** Returns the entered name and password of a form. */
export function readCredentials({ form }: PageContext): { name: string; password: string } {
  return { name: (form['name'] ?? '').trim(), password: form['password'] ?? '' };
}

/** Serves the page of open registration. If registration is closed, a page says so. */
@PageController()
export class RegistrationController {
  constructor(
    private readonly registration: Registration,
    private readonly signIn: SignIn,
  ) {}

  @Get('register')
  showRegistrationForm(@Res() { page }: FastifyReply): void {
    if (!this.registration.isOpenToEverybody) throw new Refusal('registration');
    const next = nextPath(page.query['next']);
    const refused = page.takeOutcome<RefusedForm>();
    page.show(registerPage, { action: '/register', kind: 'open', next, ...refused });
  }

  @Post('register')
  async register(@Res() { page }: FastifyReply): Promise<void> {
    if (!this.registration.isOpenToEverybody) throw new Refusal('registration');
    const next = nextPath(page.form['next']);
    const credentials = readCredentials(page);
    let account: Account;
    try {
      account = await this.registration.register(credentials, page.request.ip);
    } catch (error) {
      return page.refuse(withNext('/register', next), error, { entered: credentials.name });
    }
    page.signIn(await this.signIn.signInWithoutPassword(account.id, page.browser, true));
    page.redirect(next ?? '/connect');
  }
}
