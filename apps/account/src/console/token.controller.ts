import { Header, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { IssuerLimits } from '../issuer/issuer-limits.js';
import { PageController } from '../pages/person.guard.js';
import { type ConsoleToken, ConsoleTokens } from './console-tokens.js';

/** Response of `POST /console/token`: an access token, and the user of the browser's session. */
export interface ConsoleTokenResponse extends ConsoleToken {
  /** User of the session. Another user can have signed in since the last response. */
  readonly user: { readonly id: string; readonly name: string | null };
}

/** Issues console tokens to signed-in browsers. The page guard rejects requests of other sites. */
@PageController()
export class TokenController {
  constructor(
    private readonly tokens: ConsoleTokens,
    private readonly limits: IssuerLimits,
  ) {}

  /**
   * Returns a console token; 401 without a session. A redirect to the sign-in page would discard
   * the text that the person has typed in the console.
   */
  @Post('console/token')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  async token(
    @Req() { ip, person }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConsoleTokenResponse | { code: string; message: string }> {
    await this.limits.countRequest('token', ip);
    if (!person) {
      void reply.code(401);
      return { code: '401', message: 'Sign in first' };
    }
    const { id, name } = person.account;
    return { ...(await this.tokens.issueToken(person.session)), user: { id, name } };
  }
}
