import {
  documentedEntrySchema,
  episodeSchema,
  Failure,
  faultInHttpUrl,
  guidSchema,
  parseTime,
  subscriptionSchema,
} from '#contracts';
import { z } from 'zod';
import { QueryString } from './http/query-string.js';

const httpUrlSchema = z
  .string()
  .trim()
  .refine((text) => faultInHttpUrl(text) === undefined, 'must be an absolute http or https URL');

/** A time in a request, in any form of RFC 3339. */
const sentTimeSchema = z
  .string()
  .refine((text) => parseTime(text) !== undefined, 'must be a date and time (RFC 3339)')
  .meta({ format: 'date-time' });

/**
 * Returns the parameter `timestamp` of a DELETE; `undefined` if it is absent.
 *
 * @throws Failure `invalid` if it is not a time or is repeated.
 */
export function deletionTime(url: string): string | undefined {
  const queryStart = url.indexOf('?');
  const timestamps =
    queryStart < 0 ? [] : new QueryString(url.slice(queryStart), ['timestamp']).getAll('timestamp');
  if (timestamps.length === 0) return undefined;
  if (timestamps.length > 1 || !sentTimeSchema.safeParse(timestamps[0]).success)
    throw new Failure('invalid');
  return timestamps[0];
}

/** Answer of /capabilities: versions by URN, in the form of the draft's pull request 133. */
export const capabilitiesSchema = z
  .record(
    z.string(),
    z.record(
      z.string(),
      z.object({ status: z.enum(['STABLE', 'UNSTABLE', 'DEPRECATED']), root: z.string() }),
    ),
  )
  .meta({ id: 'Capabilities' });

/** Body of every error answer. */
export const errorSchema = z
  .object({ code: z.string(), message: z.string() })
  .meta({ id: 'Error', description: 'Every error has this body; `code` is the status.' });

/** URL of another page. */
const pageLinkSchema = z.string().meta({ format: 'uri' });

/** The fields that a page of subscriptions and a page of episodes have. */
const pageEnvelopeSchema = z.object({
  total: z.int().min(0).describe('Number of rows on all pages.'),
  page: z.int().min(1),
  per_page: z.int().min(1),
  next: pageLinkSchema.optional(),
  previous: pageLinkSchema.optional(),
});

export const subscriptionPageSchema = pageEnvelopeSchema
  .extend({ subscriptions: z.array(subscriptionSchema) })
  .meta({ id: 'SubscriptionPage' });

/** Schema of a valid entry, for the API description only. The service validates the entries. */
export const subscriptionEntrySchema = z.object({
  feed_url: z.string().describe('Absolute http or https URL.'),
  guid: z
    .guid()
    .optional()
    .meta({ format: 'uuid', description: 'Declared by the feed; derived when omitted.' }),
  timestamp: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: "Time of the subscription and of the title by the client's clock." }),
  title: z.string().optional().describe("The listener's own title for the podcast."),
});

export const subscribeSchema = z
  .object({ subscriptions: z.array(unvalidated(z.toJSONSchema(subscriptionEntrySchema))) })
  .meta({ id: 'SubscribeRequest' });

export const updateSchema = z
  // The fields are `nullish`, because `null` counts as absent in every request.
  .object({
    new_feed_url: httpUrlSchema.nullish(),
    new_guid: guidSchema.nullish(),
    is_subscribed: z.boolean().nullish(),
    timestamp: sentTimeSchema.nullish().describe("Time of the change by the client's clock."),
    title: z.string().nullish().describe("The listener's own title; empty to remove it."),
  })
  .refine(
    (patch) =>
      [patch.new_feed_url, patch.new_guid, patch.is_subscribed, patch.title].some(
        (value) => (value ?? undefined) !== undefined,
      ),
    'needs a field other than timestamp',
  )
  .meta({ id: 'UpdateRequest' });

export const episodePageSchema = pageEnvelopeSchema
  .extend({ episodes: z.array(episodeSchema) })
  .meta({ id: 'EpisodePage' });

/** Body of an upload of episodes. The service validates each entry separately. */
export const uploadSchema = z
  .object({ episodes: z.array(unvalidated(z.toJSONSchema(documentedEntrySchema))) })
  .meta({ id: 'UploadRequest' });

/** Returns a schema that accepts anything. The API description shows `schema` instead. */
export function unvalidated(schema: object) {
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
