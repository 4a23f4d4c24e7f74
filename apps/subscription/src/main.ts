import { runService, serviceConfig } from '#runtime/service';
import { SubscriptionModule } from './subscription.module.js';

await runService('subscription', 'subscription', serviceConfig, () => ({ module: SubscriptionModule }));
