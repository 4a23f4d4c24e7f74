import { Header, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { IssuerLimits } from '../issuer/issuer.limits.js';
import { PageController, type Person, PersonOf } from '../pages/person.guard.js';
import { ConsoleTokens } from './console.tokens.js';

/** The response of `POST /console/token`. */
export interface TokenResponse {
  readonly access_token: string;
  /** Lifetime in seconds. */
  readonly expires_in: number;
  readonly api: string;
  /** User of the session. Another user can have signed in since the last token. */
  readonly user: { readonly id: string; readonly name: string | null };
}

/** Serves console tokens for the session cookie. The page guard rejects requests of other sites. */
@PageController()
export class TokenController {
  constructor(
    private readonly tokens: ConsoleTokens,
    private readonly limits: IssuerLimits,
  ) {}

  /**
   * Returns a token; 401 without a session, since a redirect would lose what the person entered;
   * 501 if `API_URLS` is not set.
   */
  @Post('console/token')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  async token(
    @PersonOf() person: Person | undefined,
    @Req() { ip }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TokenResponse | { code: string; message: string }> {
    await this.limits.consume('token', ip);
    if (!person) return sendRefusal(reply, 401, 'Sign in first');
    if (!this.tokens.isConfigured)
      return sendRefusal(reply, 501, 'The console has no API: the operator must set API_URLS');
    const { accessToken, expiresIn, api } = await this.tokens.issue(person.session);
    const { id, name } = person.account;
    return { access_token: accessToken, expires_in: expiresIn, api, user: { id, name } };
  }
}

function sendRefusal(
  reply: FastifyReply,
  status: number,
  message: string,
): { code: string; message: string } {
  void reply.code(status);
  return { code: String(status), message };
}
