import {
  Body,
  Controller,
  Delete,
  Get,
  Inject,
  Param,
  Patch,
  Post,
  Req,
  Res,
} from '@nestjs/common';
import { ApiQuery, ApiTags } from '@nestjs/swagger';
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
import { sentBatch, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { UserId } from '../http/server-options.js';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import {
  deletionAcceptedSchema,
  deletionTime,
  subscribeSchema,
  subscriptionPageSchema,
  updateSchema,
} from '../wire.schemas.js';
import { ListResponder } from '../list/list-responder.js';
import { ApiIdempotencyKey, ApiListParameters, Operation } from '../openapi.decorators.js';

/** Serves /subscriptions (docs/reference/subscriptions.md, "Subscriptions"). */
@ApiTags('Subscriptions')
@Controller('subscriptions')
export class SubscriptionController {
  constructor(
    private readonly services: Services,
    private readonly lists: ListResponder,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @ApiIdempotencyKey()
  @Operation('Adds subscriptions', subscribedSchema, [405])
  subscribe(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Body({ schema: subscribeSchema }) { subscriptions }: z.output<typeof subscribeSchema>,
  ) {
    const body = sentBatch(request, subscriptions, this.config.MAX_SUBSCRIPTION_ENTRIES);
    return this.services.call(subscribe, request, { userId, body });
  }

  @Get()
  @ApiListParameters()
  @Operation('Lists subscriptions changed since a timestamp', subscriptionPageSchema)
  list(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.lists.answer(listSubscriptions, userId, request, reply);
  }

  @Get(':guid')
  @Operation('Reads one subscription', subscriptionSchema, [404, 405, 410])
  get(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Param('guid', { schema: guidSchema }) guid: string,
  ) {
    return this.services.call(getSubscription, request, { userId, guid });
  }

  @Patch(':guid')
  @ApiIdempotencyKey()
  @Operation('Updates one subscription', updatedSchema, [404, 405])
  update(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Param('guid', { schema: guidSchema }) guid: string,
    @Body({ schema: updateSchema }) body: z.output<typeof updateSchema>,
  ) {
    const patch = {
      userId,
      guid,
      newFeedUrl: body.new_feed_url ?? undefined,
      newGuid: body.new_guid ?? undefined,
      isSubscribed: body.is_subscribed ?? undefined,
      timestamp: body.timestamp ?? undefined,
      title: body.title ?? undefined,
    };
    return this.services.call(updateSubscription, request, patch);
  }

  @Delete(':guid')
  @ApiIdempotencyKey()
  @ApiQuery({
    name: 'timestamp',
    required: false,
    description: "Time of the deletion by the client's clock.",
    schema: { type: 'string', format: 'date-time' },
  })
  @Operation('Requests deletion of one subscription', deletionAcceptedSchema, [404, 405], {
    status: 202,
  })
  async delete(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Param('guid', { schema: guidSchema }) guid: string,
  ) {
    const deletion = { userId, guid, timestamp: deletionTime(request.url) };
    const { deletionId } = await this.services.call(requestDeletion, request, deletion);
    return {
      deletion_id: deletionId,
      message: 'Deletion request was received and will be processed',
    };
  }
}
