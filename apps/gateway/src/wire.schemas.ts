import { documentedEntrySchema, episodeSchema, faultInHttpUrl, guidSchema, subscriptionSchema } from '#contracts';
import { z } from 'zod';

const httpUrl = z
  .string()
  .trim()
  .refine((text) => faultInHttpUrl(text) === undefined, 'must be an absolute http or https URL');

/** The interface's error body. */
export const errorSchema = z
  .object({ code: z.string(), message: z.string() })
  .meta({ id: 'Error', description: 'Every error has this body; `code` is the status.' });

const link = z.string().meta({ format: 'uri' });

const page = z.object({
  total: z.int().min(0).describe('All matches, before paging.'),
  page: z.int().min(1),
  per_page: z.int().min(1),
  next: link.optional(),
  previous: link.optional(),
});

export const subscriptionPageSchema = page
  .extend({ subscriptions: z.array(subscriptionSchema) })
  .meta({ id: 'SubscriptionPage' });

/** A valid entry, for the API description: entries are validated one by one, after they were counted (batch.ts). */
const subscriptionEntry = z.toJSONSchema(
  z.object({
    feed_url: z.string().describe('Absolute http or https URL.'),
    guid: z.guid().optional().meta({ format: 'uuid', description: 'Declared by the feed; derived when omitted.' }),
  }),
);

export const subscribeSchema = z
  .object({ subscriptions: z.array(documented(subscriptionEntry)) })
  .meta({ id: 'SubscribeRequest' });

export const updateSchema = z
  .object({ new_feed_url: httpUrl.optional(), new_guid: guidSchema.optional(), is_subscribed: z.boolean().optional() })
  .refine((patch) => Object.values(patch).some((value) => value !== undefined), 'needs at least one known field')
  .meta({ id: 'UpdateRequest' });

export const episodePageSchema = page.extend({ episodes: z.array(episodeSchema) }).meta({ id: 'EpisodePage' });

/** Each entry is judged by itself in the service, so a wrong one is a verdict and no error. */
export const uploadSchema = z
  .object({ episodes: z.array(documented(z.toJSONSchema(documentedEntrySchema))) })
  .meta({ id: 'UploadRequest' });

/** Anything, so that it costs nothing to accept; shown in the API's description as what it should be. */
function documented(schema: object) {
  return z.unknown().meta(schema as Record<string, unknown>);
}

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
