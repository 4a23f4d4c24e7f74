import { faultInHttpUrl, guidSchema } from '#contracts';
import { z } from 'zod';

/** A time stamp as answers show it. */
const stamp = z.iso.datetime({ precision: 3 }).meta({ example: '2023-02-23T14:00:00.000Z' });
const guid = z.guid().meta({ format: 'uuid' });
const url = z.string().meta({ format: 'uri' });
const httpUrl = z
  .string()
  .refine((text) => faultInHttpUrl(text) === undefined, 'must be an absolute http or https URL');

/** The interface's error body. */
export const errorSchema = z
  .object({ code: z.string(), message: z.string() })
  .meta({ id: 'Error', description: 'Every error has this body; `code` is the status.' });

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

const page = z.object({
  total: z.int().min(0).describe('All matches, before paging.'),
  page: z.int().min(1),
  per_page: z.int().min(1),
  next: url.optional(),
  previous: url.optional(),
});

export const subscriptionPageSchema = page
  .extend({ subscriptions: z.array(subscriptionSchema) })
  .meta({ id: 'SubscriptionPage' });

export const subscribeSchema = z
  .object({
    subscriptions: z.array(
      z.object({
        feed_url: z.string().describe('Absolute http or https URL.'),
        guid: z
          .unknown()
          .optional()
          .meta({ type: 'string', format: 'uuid', description: 'Declared by the feed; derived when omitted.' }),
      }),
    ),
  })
  .meta({ id: 'SubscribeRequest' });

export const subscribedSchema = z
  .object({
    success: z.array(z.object({ feed_url: url, guid, is_subscribed: z.literal(true), subscription_changed: stamp })),
    failure: z.array(z.object({ feed_url: z.string(), message: z.string() })),
  })
  .meta({ id: 'SubscribeAnswer' });

export const updateSchema = z
  .object({ new_feed_url: httpUrl.optional(), new_guid: guidSchema.optional(), is_subscribed: z.boolean().optional() })
  .refine((patch) => Object.values(patch).some((value) => value !== undefined), 'needs at least one known field')
  .meta({ id: 'UpdateRequest' });

export const updatedSchema = z
  .object({
    new_feed_url: url.optional(),
    is_subscribed: z.boolean().optional(),
    subscription_changed: stamp.optional(),
    new_guid: guid.optional(),
    guid_changed: stamp.optional(),
  })
  .meta({ id: 'UpdateAnswer' });

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

export const episodeSchema = z
  .object({
    podcast_guid: guid.describe("The subscription's current guid."),
    sync_id: guid,
    episode_guid: z.string(),
    title: z.string(),
    publish_date: stamp,
    enclosure_url: url,
    episode_url: url,
    ...statuses,
  })
  .meta({ id: 'Episode' });

export const episodePageSchema = page.extend({ episodes: z.array(episodeSchema) }).meta({ id: 'EpisodePage' });

const temporaryId = z.union([z.string(), z.number()]).optional();

/** What an entry should look like; each is judged by itself, so a wrong one is a verdict and no error. */
const episodeEntry = z.toJSONSchema(
  episodeSchema
    .partial()
    .required({ podcast_guid: true })
    .extend({ temporary_id: temporaryId })
    .omit({
      playback_position: true,
      played_status: true,
      new_status: true,
      download_status: true,
      favorite_status: true,
    })
    .extend({
      playback_position: sent(z.number().min(0)),
      played_status: sent(z.boolean()),
      new_status: sent(z.boolean()),
      download_status: sent(z.boolean()),
      favorite_status: sent(z.boolean()),
    })
    .meta({ id: undefined }),
);

function sent(value: z.ZodType) {
  const time = z.string().describe("The client's time of the change: RFC 3339, or `YYYY-MM-DDThh:mm` in UTC.");
  return z.object({ value, timestamp: time }).optional();
}

export const uploadSchema = z
  .object({ episodes: z.array(z.unknown().meta(episodeEntry as Record<string, unknown>)) })
  .meta({ id: 'UploadRequest' });

export const uploadedSchema = z
  .object({
    success: z.array(episodeSchema.extend({ temporary_id: temporaryId }).meta({ id: 'UploadedEpisode' })),
    failure: z.array(
      z.object({
        podcast_guid: z.string().optional(),
        sync_id: z.string().optional(),
        episode_guid: z.string().optional(),
        temporary_id: temporaryId,
        message: z.string(),
      }),
    ),
  })
  .meta({ id: 'UploadAnswer' });

export const deletionAcceptedSchema = z
  .object({ deletion_id: z.int().positive().optional(), message: z.string() })
  .meta({ id: 'DeletionAccepted' });

export const deletionSchema = z
  .object({
    deletion_id: z.int().positive(),
    status: z.enum(['SUCCESS', 'PENDING', 'FAILURE']),
    message: z.string().optional(),
  })
  .meta({ id: 'Deletion' });
