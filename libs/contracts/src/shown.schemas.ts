import { z } from 'zod';

// What a client is shown, in the interface's own names; the service that owns it makes it, and nobody changes it later.
// An episode is in episode.fields.ts.

/** A time stamp as answers show it. */
export const shownStamp = z.iso.datetime({ precision: 3 }).meta({ example: '2023-02-23T14:00:00.000Z' });
export const shownGuid = z.guid().meta({ format: 'uuid' });
export const shownUrl = z.string().meta({ format: 'uri' });

/** A subscription (docs/interface.md, "Subscriptions"). */
export const subscriptionSchema = z
  .object({
    feed_url: shownUrl.describe('Address of the feed, kept exactly as it was sent.'),
    guid: shownGuid.describe('Unique identifier of the subscription.'),
    is_subscribed: z.boolean(),
    subscription_changed: shownStamp.optional(),
    new_guid: shownGuid.optional().describe('Replacement identifier, present when the guid was changed.'),
    guid_changed: shownStamp.optional(),
    deleted: shownStamp.optional().describe('Present when the subscription has been deleted.'),
  })
  .meta({ id: 'Subscription' });

export type Subscription = z.output<typeof subscriptionSchema>;

/** Why an entry of a batch could not be accepted, closed (docs/interface.md, "Subscriptions" and "Episodes"). */
export const entryFailureCodes = [
  'invalid_url',
  'invalid_guid',
  'invalid_value',
  'missing_identifier',
  'unknown_subscription',
  'wrong_subscription',
  'feed_url_taken',
  'superseded',
  'limit_reached',
] as const;
export type EntryFailureCode = (typeof entryFailureCodes)[number];
export const entryFailureCodeSchema = z.enum(entryFailureCodes);

/** The verdicts on the entries of POST /subscriptions. */
export const subscribedSchema = z
  .object({
    success: z.array(
      z.object({
        feed_url: shownUrl,
        guid: shownGuid,
        is_subscribed: z.literal(true),
        subscription_changed: shownStamp,
      }),
    ),
    failure: z.array(z.object({ feed_url: z.string(), code: entryFailureCodeSchema, message: z.string() })),
  })
  .meta({ id: 'SubscribeAnswer' });
export type Subscribed = z.output<typeof subscribedSchema>;

/** The fields that were sent, and the stamps that follow (PATCH /subscriptions/{guid}). */
export const updatedSchema = z
  .object({
    new_feed_url: shownUrl.optional(),
    is_subscribed: z.boolean().optional(),
    subscription_changed: shownStamp.optional(),
    new_guid: shownGuid.optional(),
    guid_changed: shownStamp.optional(),
  })
  .meta({ id: 'UpdateAnswer' });
export type Updated = z.output<typeof updatedSchema>;
