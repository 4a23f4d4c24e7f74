import { Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { OnlyReads } from '../http/routes.js';
import type { Caller } from './authenticator.js';
import { By } from './request.caller.js';
import { expiredCookie } from './session.cookie.js';
import { Sessions } from './sessions.js';

/** Login and logout of clients. Admission checks the credential and sets the cookie before. */
@Controller('api/2/auth/:user')
export class LoginController {
  constructor(private readonly sessions: Sessions) {}

  @Post('login.json')
  @HttpCode(200)
  @OnlyReads()
  login(): void {}

  @Post('logout.json')
  @HttpCode(200)
  @OnlyReads()
  async logout(
    @By() { session }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    if (session) await this.sessions.end(session);
    void reply.removeHeader('set-cookie').header('set-cookie', expiredCookie);
  }
}
