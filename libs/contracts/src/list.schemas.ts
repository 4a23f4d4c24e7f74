import { z } from 'zod';
import { jsonOf } from './json.text.js';

/** A timestamp inside the system: UTC with milliseconds, `2023-02-23T14:00:00.000Z`. */
export const stampSchema = z.iso.datetime({ precision: 3 });

/** The start of a page: its number, or the row id that it follows or precedes. */
const cursorSchema = z.discriminatedUnion('from', [
  z.object({ from: z.literal('page'), page: z.int().min(1) }),
  z.object({ from: z.literal('after'), id: z.int() }),
  z.object({ from: z.literal('before'), id: z.int() }),
]);

/** Lowest and highest row id that matched `since` at the first page. Later pages stay within. */
const idRangeSchema = z.object({ first: z.int(), last: z.int() });
export type IdRange = z.output<typeof idRangeSchema>;

/** The request of the lists of subscriptions and of episodes. */
export const listRequestSchema = z.object({
  userId: z.guid(),
  /** Only rows with later changes; absent for all rows. */
  since: stampSchema.optional(),
  perPage: z.int().min(1),
  /** Maximum bytes of the items' JSON. A page that would exceed it ends earlier. */
  maxBytes: z.int().min(1).optional(),
  cursor: cursorSchema,
  /** The total of the first page, for later pages. */
  total: z.int().optional(),
  /** The {@link IdRange} of the first page. */
  span: idRangeSchema.optional(),
  /** The clock of the client's copy. If the user's clock is the same, the reply is `unchanged`. */
  knownClock: stampSchema.optional(),
});
export type ListRequest = z.output<typeof listRequestSchema>;

/** Returns the reply schema of a list. Clock, rows and total are from one database snapshot. */
export function listReplySchema<Item extends z.ZodType>(item: Item) {
  return z.discriminatedUnion('unchanged', [
    z.object({ unchanged: z.literal(true), clock: stampSchema }),
    z.object({
      unchanged: z.literal(false),
      clock: stampSchema,
      total: z.int().min(0),
      items: jsonOf(z.array(item)),
      /** Row ids of the first and last item; absent on an empty page. */
      firstId: z.int().optional(),
      lastId: z.int().optional(),
      /** The {@link IdRange}: only on a first page with `since` that is not empty. */
      span: idRangeSchema.optional(),
      /** True if more rows follow in the direction of the request. */
      more: z.boolean(),
    }),
  ]);
}
