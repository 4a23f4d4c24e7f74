import { runService } from '#transport/service';
import { subscriptionConfig } from './subscription.config.js';
import { SubscriptionModule } from './subscription.module.js';

await runService('subscription', 'subscription', subscriptionConfig, (config) =>
  SubscriptionModule.forRoot(config),
);
