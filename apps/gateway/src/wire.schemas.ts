import {
  documentedEntrySchema,
  entryNames,
  type EpisodeEntry,
  episodeSchema,
  episodeStatuses,
  Failure,
  faultInHttpUrl,
  guidSchema,
  type RequestOf,
  type subscribe,
  subscriptionSchema,
  wireNames,
} from '#contracts';
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

/** A valid entry, for the API description: entries are validated one by one, after they were counted (subscriptionEntries). */
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
  // `null` counts as not sent, as in every request.
  .object({ new_feed_url: httpUrl.nullish(), new_guid: guidSchema.nullish(), is_subscribed: z.boolean().nullish() })
  .refine((patch) => Object.values(patch).some((value) => (value ?? undefined) !== undefined), 'needs a known field')
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

/**
 * Batches as they leave for the services: counted before anything else, and with no deeper structure than an entry has.
 * What stands where a scalar should is passed on as an empty array, which every field's rule refuses.
 */
const misplaced: readonly never[] = [];

/** @throws Failure `invalid` for more entries than a batch may have. */
function counted(entries: readonly unknown[], most: number): readonly unknown[] {
  if (entries.length > most) throw new Failure('invalid');
  return entries;
}

/** The entries of POST /subscriptions. @throws Failure `invalid` also where one has no `feed_url` to answer with. */
export function subscriptionEntries(entries: readonly unknown[], most: number): RequestOf<typeof subscribe>['entries'] {
  return counted(entries, most).map((entry) => {
    if (!isObject(entry) || typeof entry.feed_url !== 'string') throw new Failure('invalid');
    const { feed_url: feedUrl, guid } = entry;
    if (guid === undefined || guid === null) return { feedUrl };
    // A guid that is no string is answered like any other invalid guid.
    return { feedUrl, guid: typeof guid === 'string' ? guid : '' };
  });
}

/** The entries of POST /episodes; `null` for one that is no object. */
export function episodeEntries(entries: readonly unknown[], most: number): EpisodeEntry[] {
  return counted(entries, most).map((entry) => (isObject(entry) ? episodeEntry(entry) : null));
}

function episodeEntry(entry: Record<string, unknown>): EpisodeEntry {
  const fields: Record<string, unknown> = {};
  for (const name of entryNames) {
    const sent = entry[wireNames[name]];
    if (!isSent(entry, wireNames[name])) continue;
    if (!(name in episodeStatuses)) fields[name] = scalar(sent);
    else if (!isObject(sent)) fields[name] = misplaced;
    else if (isSent(sent, 'value')) fields[name] = { value: scalar(sent.value), timestamp: scalar(sent.timestamp) };
  }
  return fields;
}

/** Many serializers write `null` for what is absent; a status without a value is absent as well. */
function isSent(entry: Record<string, unknown>, field: string): boolean {
  return Object.hasOwn(entry, field) && entry[field] !== null && entry[field] !== undefined;
}

function scalar(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? misplaced : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
