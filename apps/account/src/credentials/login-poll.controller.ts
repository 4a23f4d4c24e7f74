import { setTimeout } from 'node:timers/promises';
import { Body, Controller, Header, HttpCode, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { type LoginResult, LoginFlows } from './login-flows.js';

/** Delay of the 404 response to a poll in milliseconds, since some apps poll without a pause. */
const pollDelayMs = 1_000;
/** Maximum number of delayed responses per process; further responses are immediate. */
const maxDelayedResponses = 1_000;

const pollBody = z.object({ token: z.string().max(256) });

/**
 * Handles polls of Nextcloud's login flow (v2). Responds 404 until the approval, because apps stop
 * polling after any other error.
 */
@Controller('login/v2/poll')
export class LoginPollController {
  private delayedResponseCount = 0;

  constructor(private readonly flows: LoginFlows) {}

  /** Returns the app password, or 404 without one. The token arrives as form data or JSON. */
  @Post()
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  async poll(
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LoginResult | object> {
    const { data } = pollBody.safeParse(body);
    const loginResult = data && (await this.flows.poll(data.token));
    if (loginResult) return loginResult;
    if (this.delayedResponseCount < maxDelayedResponses) {
      this.delayedResponseCount += 1;
      // The poll has returned its Postgres connection, so the delay occupies none.
      await setTimeout(pollDelayMs);
      this.delayedResponseCount -= 1;
    }
    void reply.status(404);
    return {};
  }
}
