import { z } from 'zod';
import { guidSchema } from './values.js';

// The lines of a file of users' data (docs/reference/data.md), which `load` reads and `dump`
// writes. Field names are those of HTTP. An episode is an entry of POST /episodes.

/** Version of the format that this build writes, and the only one that it reads. */
export const dataFormat = 1;

/** Maximum bytes of a line, without its line feed. */
export const maxLineBytes = 1_024 * 1_024;

/** A text without lone surrogates. UTF-8 would encode all of them in the same bytes. */
const claim = z
  .string()
  .min(1)
  .refine((text) => text.isWellFormed());

/** The user of the next lines: issuer and subject of a credential, or the id derived from them. */
export const dataUserSchema = z.union([
  z.object({ issuer: claim, subject: claim }),
  z.object({ id: guidSchema }),
]);
export type DataUser = z.output<typeof dataUserSchema>;

/** An entry of POST /subscriptions with `is_subscribed`, by default `true`. */
export const dataSubscriptionSchema = z.object({
  feed_url: z.string(),
  guid: z.string().optional(),
  is_subscribed: z.boolean().optional(),
  /** Client's time of the last subscribing or unsubscribing (RFC 3339); default 1970. */
  timestamp: z.string().optional(),
  /** The listener's title, set at `timestamp`. A value that is not a string counts as absent. */
  title: z.string().optional().catch(undefined),
});
export type DataSubscription = z.output<typeof dataSubscriptionSchema>;

/** The last line of a user: number of lines of each kind. */
export const dataEndSchema = z.object({ subscriptions: z.int().min(0), episodes: z.int().min(0) });
export type DataEnd = z.output<typeof dataEndSchema>;
