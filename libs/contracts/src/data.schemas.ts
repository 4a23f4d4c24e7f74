import { z } from 'zod';
import { guidSchema } from './values.js';

// The lines of a file of users' data (docs/reference/data.md), which `load` reads and `dump`
// writes. Field names are those of HTTP. An episode is an entry of POST /episodes.

/** Version of the file format. This release writes and reads no other version. */
export const dataFormat = 1;

/** Maximum bytes of a line of the file, without its line feed. */
export const maxLineBytes = 1_024 * 1_024;

/** A claim of a token, without lone surrogates, because UTF-8 encodes them as the same bytes. */
const claimSchema = z
  .string()
  .min(1)
  .refine((text) => text.isWellFormed());

/** The line before the data of a user: issuer and subject, or the user id derived from them. */
export const dataUserSchema = z.union([
  z.object({ issuer: claimSchema, subject: claimSchema }),
  z.object({ id: guidSchema }),
]);
export type DataUser = z.output<typeof dataUserSchema>;

/** The line of a subscription: an entry of POST /subscriptions. Default `is_subscribed`: true. */
export const dataSubscriptionSchema = z.object({
  feed_url: z.string(),
  guid: z.string().optional(),
  is_subscribed: z.boolean().optional(),
  /** Client's time of the last subscribe or unsubscribe (RFC 3339); default 1970. */
  timestamp: z.string().optional(),
  /** Title that the listener set at `timestamp`. A value that is not a string counts as absent. */
  title: z.string().optional().catch(undefined),
});
export type DataSubscription = z.output<typeof dataSubscriptionSchema>;

/** The last line of a user: the number of lines of each kind before it. */
export const dataEndSchema = z.object({ subscriptions: z.int().min(0), episodes: z.int().min(0) });
export type DataEnd = z.output<typeof dataEndSchema>;
