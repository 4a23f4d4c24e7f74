import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  changeFeeds,
  countFeeds,
  findFeeds,
  getSubscription,
  listFeeds,
  type ListRequest,
  listSubscriptions,
  loadSubscriptions,
  type RequestOf,
  subscribe,
  updateSubscription,
} from '#contracts';
import { CallContext, Handle } from '#transport';
import { FeedService } from './feeds.service.js';
import { SubscriptionService } from './subscription.service.js';

/** The contracts that this service answers. */
@Controller()
export class SubscriptionController {
  constructor(
    private readonly subscriptions: SubscriptionService,
    private readonly feeds: FeedService,
  ) {}

  @Handle(subscribe)
  subscribe(@Payload() request: RequestOf<typeof subscribe>, @Ctx() context: CallContext) {
    return this.subscriptions.subscribe(request, context);
  }

  @Handle(loadSubscriptions)
  load(@Payload() request: RequestOf<typeof loadSubscriptions>, @Ctx() context: CallContext) {
    return this.subscriptions.load(request, context);
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

  @Handle(listFeeds)
  listFeeds(@Payload() request: RequestOf<typeof listFeeds>, @Ctx() context: CallContext) {
    return this.feeds.list(request, context);
  }

  @Handle(changeFeeds)
  changeFeeds(@Payload() request: RequestOf<typeof changeFeeds>, @Ctx() context: CallContext) {
    return this.feeds.change(request, context);
  }

  @Handle(findFeeds)
  findFeeds(@Payload() request: RequestOf<typeof findFeeds>) {
    return this.feeds.find(request);
  }

  @Handle(countFeeds)
  countFeeds(@Payload() request: RequestOf<typeof countFeeds>) {
    return this.feeds.count(request);
  }
}
