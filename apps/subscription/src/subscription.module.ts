import { Module } from '@nestjs/common';
import { SubscriptionController } from './subscription.controller.js';
import { SubscriptionService } from './subscription.service.js';

/** Subscriptions, their guids and URLs, and the user's clock. */
@Module({ controllers: [SubscriptionController], providers: [SubscriptionService] })
export class SubscriptionModule {}
