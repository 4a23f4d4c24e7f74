import { z } from 'zod';

// Schemas of resources in HTTP answers, with the field names of HTTP. The service that owns a
// resource creates its JSON, and no other process changes it. Episodes: episode-fields.ts.

const stamp = z.iso.datetime({ precision: 3 }).meta({ example: '2023-02-23T14:00:00.000Z' });
const guid = z.guid().meta({ format: 'uuid' });
const url = z.string().meta({ format: 'uri' });
export { guid as shownGuid, stamp as shownStamp };

/** A subscription (docs/reference/subscriptions.md, "Subscriptions"). */
export const subscriptionSchema = z
  .object({
    feed_url: url.describe('Address of the feed, kept exactly as it was sent.'),
    guid: guid.describe('Unique identifier of the subscription.'),
    is_subscribed: z.boolean(),
    subscription_changed: stamp.optional(),
    new_guid: guid
      .optional()
      .describe('Replacement identifier, present when the guid was changed.'),
    guid_changed: stamp.optional(),
    title: z.string().optional().describe("The listener's own title, if there is one."),
    deleted: stamp.optional().describe('Present when the subscription has been deleted.'),
  })
  .meta({ id: 'Subscription' });

export type Subscription = z.output<typeof subscriptionSchema>;

/** Why an entry of a batch failed (docs/reference/subscriptions.md and episodes.md). */
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
export const entryFailureCode = z.enum(entryFailureCodes);

/** The answer of POST /subscriptions: one success or failure for each entry. */
export const subscribedSchema = z
  .object({
    success: z.array(
      z.object({
        feed_url: url,
        guid,
        is_subscribed: z.literal(true),
        subscription_changed: stamp,
      }),
    ),
    failure: z.array(
      z.object({
        feed_url: z.string(),
        guid: guid
          .optional()
          .describe('With `feed_url_taken` the guid of the subscription that has the URL.'),
        code: entryFailureCode,
        message: z.string(),
      }),
    ),
  })
  .meta({ id: 'SubscribeAnswer' });
export type SubscribeAnswer = z.output<typeof subscribedSchema>;

/** The answer of POST /subscriptions/opml. */
export const importedSchema = subscribedSchema
  .extend({
    skipped: z
      .int()
      .min(0)
      .describe('How many entries of the document name no feed to subscribe to.'),
  })
  .meta({ id: 'ImportAnswer' });

/** The answer of PATCH /subscriptions/{guid}: the sent fields, and when each changed. */
export const updatedSchema = z
  .object({
    new_feed_url: url.optional(),
    is_subscribed: z.boolean().optional(),
    subscription_changed: stamp.optional(),
    new_guid: guid.optional(),
    guid_changed: stamp.optional(),
    title: z.string().optional().describe('Empty if there is none.'),
  })
  .meta({ id: 'UpdateAnswer' });
export type UpdateAnswer = z.output<typeof updatedSchema>;
