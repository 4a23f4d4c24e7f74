import { Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { NeedsReadScope } from './route-access.js';
import { callerOf } from './request-caller.js';
import { expiredCookie } from './session-cookie.js';
import { GpodderSessions } from './sessions.js';

/**
 * Login and logout of clients. `login` does nothing, because the HTTP server authenticates the
 * request and sets the session cookie before a handler runs.
 */
@Controller('api/2/auth/:user')
export class LoginController {
  constructor(private readonly sessions: GpodderSessions) {}

  @Post('login.json')
  @HttpCode(200)
  @NeedsReadScope()
  login(): void {}

  @Post('logout.json')
  @HttpCode(200)
  @NeedsReadScope()
  async logout(@Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const { session } = callerOf(reply.request);
    if (session) await this.sessions.end(session);
    void reply.removeHeader('set-cookie').header('set-cookie', expiredCookie);
  }
}
