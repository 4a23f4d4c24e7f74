import { setTimeout } from 'node:timers/promises';
import { Body, Controller, Header, HttpCode, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { type LoginAnswer, LoginFlows } from './login-flows.js';

/** Delay of a 404 in milliseconds, as some apps poll without a pause. */
const heldMs = 1_000;
const mostHeld = 1_000;

const body = z.object({ token: z.string().max(256) });

/** Poll of Nextcloud's login flow (v2): 404 without a result, as apps stop at other errors. */
@Controller('login/v2/poll')
export class LoginPollController {
  private held = 0;

  constructor(private readonly flows: LoginFlows) {}

  /** Accepts form data and JSON. */
  @Post()
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  async poll(
    @Body() entered: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LoginAnswer | object> {
    const { data } = body.safeParse(entered);
    const answer = data && (await this.flows.poll(data.token));
    if (answer) return answer;
    if (this.held < mostHeld) {
      this.held += 1;
      // The delay holds no Postgres connection.
      await setTimeout(heldMs);
      this.held -= 1;
    }
    void reply.status(404);
    return {};
  }
}
