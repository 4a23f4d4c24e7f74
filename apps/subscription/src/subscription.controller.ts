import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  getSubscription,
  type ListRequest,
  listSubscriptions,
  type RequestOf,
  subscribe,
  updateSubscription,
} from '#contracts';
import { CallContext, Handle } from '#transport';
import { SubscriptionService } from './subscription.service.js';

/** The contracts that this service answers. */
@Controller()
export class SubscriptionController {
  constructor(private readonly subscriptions: SubscriptionService) {}

  @Handle(subscribe)
  subscribe(@Payload() request: RequestOf<typeof subscribe>, @Ctx() context: CallContext) {
    return this.subscriptions.subscribe(request, context);
  }

  @Handle(updateSubscription)
  update(@Payload() request: RequestOf<typeof updateSubscription>, @Ctx() context: CallContext) {
    return this.subscriptions.update(request, context);
  }

  @Handle(getSubscription)
  get(@Payload() request: RequestOf<typeof getSubscription>) {
    return this.subscriptions.get(request);
  }

  @Handle(listSubscriptions)
  list(@Payload() request: ListRequest) {
    return this.subscriptions.list(request);
  }
}
