import { Controller } from '@nestjs/common';
import { beginLogin, checkCredential, Failure, type RequestOf, revokeCredential } from '#contracts';
import { Handle } from '#transport';
import { Refusal } from '../people/refusal.js';
import { AppPasswords } from './app-passwords.js';
import { LoginFlows } from './login-flows.js';

/** Handles the requests of other services about credentials and logins. */
@Controller()
export class AccountController {
  constructor(
    private readonly appPasswords: AppPasswords,
    private readonly flows: LoginFlows,
  ) {}

  @Handle(checkCredential)
  async checkCredential({ hash }: RequestOf<typeof checkCredential>) {
    return { credential: await this.appPasswords.check(hash) };
  }

  @Handle(revokeCredential)
  async revokeCredential(named: RequestOf<typeof revokeCredential>) {
    if (named.hash === undefined && named.credentialId === undefined) throw new Failure('invalid');
    return { revoked: await this.appPasswords.revokeNamed(named) };
  }

  @Handle(beginLogin)
  async beginLogin(request: RequestOf<typeof beginLogin>) {
    try {
      return await this.flows.begin(request);
    } catch (error) {
      // Too many flows of all networks are open; the app retries later.
      throw error instanceof Refusal ? new Failure('unavailable', { cause: error }) : error;
    }
  }
}
