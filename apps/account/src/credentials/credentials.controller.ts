import { Controller } from '@nestjs/common';
import { beginLogin, checkCredential, type RequestOf, revokeCredential } from '#contracts';
import { Handle } from '#transport';
import { AppPasswords } from './app-passwords.js';
import { LoginFlows } from './login-flows.js';

/** Handles messages of other services: checks and revokes app passwords, starts login flows. */
@Controller()
export class CredentialsController {
  constructor(
    private readonly appPasswords: AppPasswords,
    private readonly flows: LoginFlows,
  ) {}

  @Handle(checkCredential)
  async checkCredential({ hash }: RequestOf<typeof checkCredential>) {
    return { credential: await this.appPasswords.findAndRecordUse(hash) };
  }

  @Handle(revokeCredential)
  async revokeCredential({ credentialId }: RequestOf<typeof revokeCredential>) {
    return { revoked: await this.appPasswords.revokeById(credentialId) };
  }

  @Handle(beginLogin)
  beginLogin(request: RequestOf<typeof beginLogin>) {
    return this.flows.startFlow(request);
  }
}
