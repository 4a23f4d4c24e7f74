import { z } from 'zod';
import { documentedEntrySchema } from './episode.fields.js';
import { guidSchema } from './values.js';

// The lines of a file of users' data (docs/data.md): what `load` reads and `dump` writes. Names are those of HTTP.

/** The number of the format that this build writes, and the only one it reads. */
export const dataFormat = 1;

/** The most bytes of one line, its line feed not counted. */
export const mostLineBytes = 1_024 * 1_024;

/** The user whose data follows: issuer and subject of a credential, or the id that is derived from them. */
export const dataUserSchema = z.union([
  z.object({ issuer: z.string().min(1), subject: z.string().min(1) }),
  z.object({ id: guidSchema }),
]);
export type DataUser = z.output<typeof dataUserSchema>;

/** An entry of POST /subscriptions, and whether it is subscribed: `true` unless the line says otherwise. */
export const dataSubscriptionSchema = z.object({
  feed_url: z.string(),
  guid: z.string().optional(),
  is_subscribed: z.boolean().optional(),
  /** When the listener subscribed or unsubscribed, by the client's clock (RFC 3339); by default 1970. */
  timestamp: z.string().optional(),
});
export type DataSubscription = z.output<typeof dataSubscriptionSchema>;

/** An entry of POST /episodes without its `temporary_id`. The service finds what is wrong with a field. */
export const dataEpisodeSchema = documentedEntrySchema.omit({ temporary_id: true });
export type DataEpisode = z.output<typeof dataEpisodeSchema>;

/** How many lines of each kind the part of a user has. */
export const dataEndSchema = z.object({ subscriptions: z.int().min(0), episodes: z.int().min(0) });
export type DataEnd = z.output<typeof dataEndSchema>;

/** How many parts of users a complete file has. */
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
