import { type DynamicModule, Module } from '@nestjs/common';
import { FeedUrlService } from './feeds.service.js';
import { QUOTAS, type SubscriptionQuotas } from './subscription.config.js';
import { SubscriptionService } from './subscription.service.js';

/** The module of subscriptions, their guids and URLs. */
@Module({})
export class SubscriptionModule {
  static forRoot(quotas: SubscriptionQuotas): DynamicModule {
    return {
      module: SubscriptionModule,
      controllers: [SubscriptionService, FeedUrlService],
      providers: [{ provide: QUOTAS, useValue: quotas }],
    };
  }
}
