import { z } from 'zod';
import { guidSchema } from './values.js';

// The lines of a file of users' data (docs/reference/data.md): what `load` reads and `dump` writes. Names are those of HTTP. An
// episode is an entry of POST /episodes.

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

/** How many lines of each kind the part of a user has. */
export const dataEndSchema = z.object({ subscriptions: z.int().min(0), episodes: z.int().min(0) });
export type DataEnd = z.output<typeof dataEndSchema>;
