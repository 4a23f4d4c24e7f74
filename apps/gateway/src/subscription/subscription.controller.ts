import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  getSubscription,
  guidSchema,
  listSubscriptions,
  requestDeletion,
  subscribe,
  subscribedSchema,
  subscriptionSchema,
  updatedSchema,
  updateSubscription,
} from '#contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { UserId } from '../auth/user-id.decorator.js';
import { subscriptionEntries } from '../http/batch.js';
import { writeAnswer } from '../http/write.answers.js';
import { maxSubscriptionEntries } from '../interface.limits.js';
import { ListResponder } from '../list/list.responder.js';
import { ListParameters, Operation, Repeatable } from '../openapi.decorators.js';
import { Services } from '../services.js';
import { deletionAcceptedSchema, subscribeSchema, subscriptionPageSchema, updateSchema } from '../wire.schemas.js';

/** /subscriptions (docs/interface.md, "Subscriptions"). */
@ApiTags('Subscriptions')
@Controller('subscriptions')
export class SubscriptionController {
  constructor(
    private readonly services: Services,
    private readonly lists: ListResponder,
  ) {}

  @Post()
  @HttpCode(200)
  @Repeatable()
  @Operation('Adds subscriptions', { status: 200, schema: subscribedSchema }, [405])
  async subscribe(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Body({ schema: subscribeSchema }) body: z.output<typeof subscribeSchema>,
  ) {
    const entries = subscriptionEntries(body.subscriptions, maxSubscriptionEntries);
    return writeAnswer(subscribe, await this.services.call(subscribe, request, { userId, entries })).body;
  }

  @Get()
  @ListParameters()
  @Operation('Lists subscriptions changed since a timestamp', { status: 200, schema: subscriptionPageSchema }, [])
  list(@UserId() userId: string, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.lists.answer(listSubscriptions, userId, request, reply);
  }

  @Get(':guid')
  @Operation('Reads one subscription', { status: 200, schema: subscriptionSchema }, [404, 405, 410])
  get(@UserId() userId: string, @Req() request: FastifyRequest, @Param('guid', { schema: guidSchema }) guid: string) {
    return this.services.call(getSubscription, request, { userId, guid });
  }

  @Patch(':guid')
  @Repeatable()
  @Operation('Updates one subscription', { status: 200, schema: updatedSchema }, [404, 405])
  async update(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Param('guid', { schema: guidSchema }) guid: string,
    @Body({ schema: updateSchema }) body: z.output<typeof updateSchema>,
  ) {
    const { new_feed_url: newFeedUrl, new_guid: newGuid, is_subscribed: isSubscribed } = body;
    const patch = { userId, guid, newFeedUrl, newGuid, isSubscribed };
    return writeAnswer(updateSubscription, await this.services.call(updateSubscription, request, patch)).body;
  }

  @Delete(':guid')
  @HttpCode(202)
  @Repeatable()
  @Operation('Requests deletion of one subscription', { status: 202, schema: deletionAcceptedSchema }, [404, 405])
  async delete(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Param('guid', { schema: guidSchema }) guid: string,
  ) {
    return writeAnswer(requestDeletion, await this.services.call(requestDeletion, request, { userId, guid })).body;
  }
}
