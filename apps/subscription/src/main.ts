import { runService, serviceConfig } from '#runtime';
import { SubscriptionModule } from './subscription.module.js';

await runService('subscription', 'subscription', serviceConfig, () => ({ module: SubscriptionModule }));
