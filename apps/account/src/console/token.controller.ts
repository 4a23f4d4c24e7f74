import { Header, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { IssuerLimits } from '../issuer/issuer.limits.js';
import { PageController, type Person, PersonOf } from '../pages/person.guard.js';
import { ConsoleTokens } from './console.tokens.js';

/** What `POST /console/token` answers. */
export interface TokenAnswer {
  readonly access_token: string;
  /** Seconds. */
  readonly expires_in: number;
  /** The base URL of the API, which accepts the token. */
  readonly api: string;
  /** Whose it is: another person may have signed in meanwhile, in another window. */
  readonly user: { readonly id: string; readonly name: string | null };
}

/**
 * Tokens for the console, by the cookie of who is signed in. Other sites are refused before anything is looked at, as with
 * every form (PersonGuard): `Sec-Fetch-Site`, and `Origin` where browsers do not send that.
 */
@PageController()
export class TokenController {
  constructor(
    private readonly tokens: ConsoleTokens,
    private readonly limits: IssuerLimits,
  ) {}

  /** 401 where nobody is signed in, and no redirect: somebody may be typing. 501 where no API is configured. */
  @Post('console/token')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  async token(
    @PersonOf() person: Person | undefined,
    @Req() { ip }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TokenAnswer | { code: string; message: string }> {
    await this.limits.consume('token', ip);
    if (!person) return refused(reply, 401, 'Nobody is signed in');
    if (!this.tokens.isConfigured) return refused(reply, 501, 'API_URLS is not set');
    const { accessToken, expiresIn, api } = await this.tokens.issue(person.session);
    const { id, name } = person.account;
    return { access_token: accessToken, expires_in: expiresIn, api, user: { id, name } };
  }
}

function refused(reply: FastifyReply, status: number, message: string): { code: string; message: string } {
  void reply.code(status);
  return { code: String(status), message };
}
