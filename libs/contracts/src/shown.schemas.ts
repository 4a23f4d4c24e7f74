import { z } from 'zod';

// Resources as clients get them, with the interface's names: the service that owns one makes it, and nothing changes
// it.

/** A time stamp as answers show it. */
const stamp = z.iso.datetime({ precision: 3 }).meta({ example: '2023-02-23T14:00:00.000Z' });
const guid = z.guid().meta({ format: 'uuid' });
const url = z.string().meta({ format: 'uri' });

/** A subscription (docs/interface.md, "Subscriptions"). */
export const subscriptionSchema = z
  .object({
    feed_url: url.describe('Address of the feed, kept exactly as it was sent.'),
    guid: guid.describe('Unique identifier of the subscription.'),
    is_subscribed: z.boolean(),
    subscription_changed: stamp.optional(),
    new_guid: guid.optional().describe('Replacement identifier, present when the guid was changed.'),
    guid_changed: stamp.optional(),
    deleted: stamp.optional().describe('Present when the subscription has been deleted.'),
  })
  .meta({ id: 'Subscription' });

export type Subscription = z.output<typeof subscriptionSchema>;

/** Every reason why an entry of a batch is not accepted (docs/interface.md, "Subscriptions" and "Episodes"). */
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
const entryFailureCode = z.enum(entryFailureCodes);

/** The verdicts on the entries of POST /subscriptions. */
export const subscribedSchema = z
  .object({
    success: z.array(z.object({ feed_url: url, guid, is_subscribed: z.literal(true), subscription_changed: stamp })),
    failure: z.array(z.object({ feed_url: z.string(), code: entryFailureCode, message: z.string() })),
  })
  .meta({ id: 'SubscribeAnswer' });
export type Subscribed = z.output<typeof subscribedSchema>;

/** The fields that were sent, and the stamps that follow (PATCH /subscriptions/{guid}). */
export const updatedSchema = z
  .object({
    new_feed_url: url.optional(),
    is_subscribed: z.boolean().optional(),
    subscription_changed: stamp.optional(),
    new_guid: guid.optional(),
    guid_changed: stamp.optional(),
  })
  .meta({ id: 'UpdateAnswer' });
export type Updated = z.output<typeof updatedSchema>;

const timestamp = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/)
  .describe('UTC to the minute, `YYYY-MM-DDThh:mm`.');
const positionStatus = z.object({ value: z.number().min(0).describe('Seconds.'), timestamp });
const flagStatus = z.object({ value: z.boolean(), timestamp });
const statuses = {
  playback_position: positionStatus.optional(),
  played_status: flagStatus.optional(),
  new_status: flagStatus.optional(),
  download_status: flagStatus.optional(),
  favorite_status: flagStatus.optional(),
};

/** An episode (docs/interface.md, "Episodes"). */
export const episodeSchema = z
  .object({
    podcast_guid: guid.describe("The subscription's current guid."),
    sync_id: guid,
    episode_guid: z.string(),
    title: z.string(),
    publish_date: stamp,
    enclosure_url: url,
    episode_url: z.string().describe('A URL, or empty where it is not known.'),
    ...statuses,
  })
  .meta({ id: 'Episode' });
export type Episode = z.output<typeof episodeSchema>;

/** The client's own name for an entry, returned as it was sent. */
export const temporaryIdSchema = z.union([z.string(), z.number()]).optional();

/** The verdicts on the entries of POST /episodes. */
export const uploadedSchema = z
  .object({
    success: z.array(episodeSchema.extend({ temporary_id: temporaryIdSchema }).meta({ id: 'UploadedEpisode' })),
    failure: z.array(
      z.object({
        podcast_guid: z.string().optional(),
        sync_id: z.string().optional(),
        episode_guid: z.string().optional(),
        enclosure_url: z.string().optional(),
        temporary_id: temporaryIdSchema,
        code: entryFailureCode,
        message: z.string(),
      }),
    ),
  })
  .meta({ id: 'UploadAnswer' });
export type Uploaded = z.output<typeof uploadedSchema>;
