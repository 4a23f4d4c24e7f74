import { createHash, randomBytes } from 'node:crypto';
import { Controller, Delete, Get, Header, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { beginLogin, revokeCredential } from '#contracts';
import { linkBase, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request-caller.js';
import { expiredCookie } from '../auth/session-cookie.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { forbidden, RejectionError } from '../http/errors.js';
import { NeedsReadScope, Public } from '../auth/route-access.js';

/** Body of a success answer of Nextcloud's OCS API. */
const ocsSuccess =
  '<?xml version="1.0"?>\n<ocs><meta><status>ok</status><statuscode>200</statuscode>' +
  '<message>OK</message></meta><data/></ocs>\n';

/** Serves the paths by which Nextcloud clients get and revoke an app password. */
@Controller()
export class NextcloudController {
  constructor(
    private readonly services: Services,
    @Inject(CONFIG) private readonly config: GpodderConfig,
  ) {}

  /** Starts Nextcloud's login flow v2. Services receive only hashes of its secrets. */
  @Post('index.php/login/v2')
  @HttpCode(200)
  @Public()
  async startLogin(@Req() request: FastifyRequest) {
    const [pollToken, loginToken] = [randomBytes(32), randomBytes(32)].map((bytes) =>
      bytes.toString('base64url'),
    ) as [string, string];
    const flow = await this.services.call(beginLogin, request, {
      pollHash: sha256(pollToken),
      loginHash: sha256(loginToken),
      userAgent: (request.headers['user-agent'] ?? '').slice(0, 1_000),
      address: request.ip.slice(0, 64),
      server: linkBase(request, this.config),
    });
    return {
      poll: { token: pollToken, endpoint: flow.endpoint },
      login: `${flow.login}${loginToken}`,
    };
  }

  /** Answers 403, as Nextcloud does to a client that already has an app password. */
  @Get('ocs/v2.php/core/getapppassword')
  rejectNewAppPassword(): never {
    throw new RejectionError(forbidden);
  }

  /** Revokes the app password of the request or of its session. */
  @Delete('ocs/v2.php/core/apppassword')
  @NeedsReadScope()
  @Header('content-type', 'application/xml; charset=utf-8')
  async revoke(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const { request } = reply;
    const { credentialId } = callerOf(request);
    await this.services.call(revokeCredential, request, { credentialId });
    void reply.removeHeader('set-cookie').header('set-cookie', expiredCookie);
    return ocsSuccess;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
