import { z } from 'zod';
import { jsonOf } from './json.text.js';
import { listReplySchema, listRequestSchema } from './list.schemas.js';
import { rpc } from './rpc.js';
import { subscribedSchema, subscriptionSchema, updatedSchema } from './shown.schemas.js';

/** Adds a batch; each entry gets a verdict of its own (POST /subscriptions). */
export const subscribe = rpc({
  pattern: 'subscription.subscribe',
  write: true,
  request: z.object({
    userId: z.guid(),
    entries: z.array(z.object({ feedUrl: z.string(), guid: z.string().optional(), timestamp: z.string().optional() })),
  }),
  reply: jsonOf(subscribedSchema),
});

/** Changes a subscription; replies with the fields that were sent and new stamps (PATCH /subscriptions/{guid}). */
export const updateSubscription = rpc({
  pattern: 'subscription.update',
  write: true,
  // A merge of two subscriptions moves all their episodes: tens of thousands take seconds.
  deadlineMs: 20_000,
  request: z.object({
    userId: z.guid(),
    guid: z.guid(),
    newFeedUrl: z.string().optional(),
    newGuid: z.guid().optional(),
    isSubscribed: z.boolean().optional(),
    timestamp: z.string().optional(),
  }),
  reply: jsonOf(updatedSchema),
});

/** Reads one subscription; fails with `not_found` or `gone` (GET /subscriptions/{guid}). */
export const getSubscription = rpc({
  pattern: 'subscription.get',
  write: false,
  request: z.object({ userId: z.guid(), guid: z.guid() }),
  reply: jsonOf(subscriptionSchema),
});

/** One page of the subscriptions that changed (GET /subscriptions). */
export const listSubscriptions = rpc({
  pattern: 'subscription.list',
  write: false,
  request: listRequestSchema,
  reply: listReplySchema(subscriptionSchema),
});
