import { Controller } from '@nestjs/common';
import { beginLogin, checkCredential, Failure, type RequestOf, revokeCredential } from '#contracts';
import { Handle } from '#transport';
import { Refusal } from '../people/refusal.js';
import { AppPasswords } from './app-passwords.js';
import { LoginFlows } from './login-flows.js';

/** The contracts that this app answers. */
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
      // Too many at once, of all networks: the app may try again in a while.
      throw error instanceof Refusal ? new Failure('unavailable', { cause: error }) : error;
    }
  }
}
