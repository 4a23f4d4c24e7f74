import { Controller } from '@nestjs/common';
import { beginLogin, checkCredential, Failure, type RequestOf, revokeCredential } from '#contracts';
import { Handle } from '#transport';
import { AppPasswords } from './app-passwords.js';
import { LoginFlows } from './login-flows.js';

/** Handles messages of other services about credentials and logins. */
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
    return { revoked: await this.appPasswords.revokeByIdOrHash(named) };
  }

  @Handle(beginLogin)
  beginLogin(request: RequestOf<typeof beginLogin>) {
    return this.flows.start(request);
  }
}
