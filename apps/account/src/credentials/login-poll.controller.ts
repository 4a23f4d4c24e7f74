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

/** Serves polls of Nextcloud's login flow (v2): 404 until approval, as other errors end polling. */
@Controller('login/v2/poll')
export class LoginPollController {
  /** Number of responses that are being delayed. */
  private delayedResponses = 0;

  constructor(private readonly flows: LoginFlows) {}

  /** Returns the app password. The token arrives as form data or JSON. */
  @Post()
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  async poll(
    @Body() entered: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LoginResult | object> {
    const { data } = pollBody.safeParse(entered);
    const answer = data && (await this.flows.poll(data.token));
    if (answer) return answer;
    if (this.delayedResponses < maxDelayedResponses) {
      this.delayedResponses += 1;
      // The poll has returned its Postgres connection, so the delay occupies none.
      await setTimeout(pollDelayMs);
      this.delayedResponses -= 1;
    }
    void reply.status(404);
    return {};
  }
}
