import { z } from 'zod';
import { documentedEntrySchema } from './episode.fields.js';
import { stampSchema } from './list.schemas.js';
import { guidSchema } from './values.js';

// The lines of a file of users' data (docs/data.md): what `load` reads and `dump` writes. Names are those of HTTP.

/** The number of the form that this build writes, and the only one it reads. */
export const dataFormat = 1;

/** The most bytes of one line, its line feed not counted. */
export const mostLineBytes = 1_024 * 1_024;
/** The most names that one line may have beside the current ones: guids and feed URLs, or sync_ids. */
export const mostNames = 5_000;

/**
 * How far the user's clock was where the data comes from: stamps that their clients hold from there are not later. Where
 * it is loaded the clock is never behind it afterwards.
 */
const clock = stampSchema.optional();

/** Whose data follows: named as a credential names them, or by the id that is made of that. */
export const dataUserSchema = z.union([
  z.object({ issuer: z.string().min(1), subject: z.string().min(1), clock }),
  z.object({ id: guidSchema, clock }),
]);
export type DataUser = z.output<typeof dataUserSchema>;

/** A further name by guid; `sent`: a client sent it; `derived`: it is derived from one of the subscription's URLs. */
const namingGuid = z.object({ guid: z.string(), sent: z.boolean().optional(), derived: z.boolean().optional() });

/**
 * A subscription. What is not said stands as in POST /subscriptions: no `guid` is the one derived from the URL, no
 * `is_subscribed` is true. Without a `timestamp` its state is older than any other.
 */
export const dataSubscriptionSchema = z.object({
  feed_url: z.string(),
  guid: z.string().optional(),
  is_subscribed: z.boolean().optional(),
  /** When the listener subscribed, unsubscribed or deleted, by the client's clock (RFC 3339). */
  timestamp: z.string().optional(),
  /** A tombstone. */
  deleted: z.literal(true).optional(),
  /** A pointer: a guid of the subscription that this one was merged into. */
  merged_into: z.string().optional(),
  /** When it got its present guid, and the guids under which clients saw it before, with when each was replaced. */
  guid_changed: z.string().optional(),
  former_guids: z
    .array(z.object({ guid: z.string(), replaced: z.string() }))
    .max(mostNames)
    .optional(),
  /**
   * Everything else that names it; of the present guid it says how it came about. Of former URLs only the SHA-256 is
   * stored: in hexadecimal.
   */
  named_by: z
    .object({
      guids: z.array(namingGuid).max(mostNames).optional(),
      feed_urls: z.array(z.string()).max(mostNames).optional(),
      feed_url_hashes: z
        .array(z.string().regex(/^[\da-f]{64}$/))
        .max(mostNames)
        .optional(),
    })
    .optional(),
});
export type DataSubscription = z.output<typeof dataSubscriptionSchema>;

/**
 * An episode with its states: an entry of POST /episodes without its `temporary_id`, and further sync_ids that name it.
 * What is wrong with a field is found by the service, as for an upload.
 */
export const dataEpisodeSchema = documentedEntrySchema
  .omit({ temporary_id: true })
  .extend({ further_sync_ids: z.array(z.guid()).max(mostNames).optional() });
export type DataEpisode = z.output<typeof dataEpisodeSchema>;

/** How many lines a user's part has had. */
export const dataEndSchema = z.object({ subscriptions: z.int().min(0), episodes: z.int().min(0) });
export type DataEnd = z.output<typeof dataEndSchema>;

/** How many parts of users a file has that was written to its end. */
export const dataCompleteSchema = z.object({ users: z.int().min(0) });

/** A line of a file. */
export const dataLineSchema = z.union([
  z.object({ podcast_sync: z.object({ format: z.literal(dataFormat) }) }),
  z.object({ user: dataUserSchema }),
  z.object({ subscription: dataSubscriptionSchema }),
  z.object({ episode: dataEpisodeSchema }),
  z.object({ end: dataEndSchema }),
  z.object({ complete: dataCompleteSchema }),
]);
export type DataLine = z.output<typeof dataLineSchema>;
