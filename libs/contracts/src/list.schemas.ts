import { z } from 'zod';
import { jsonOf } from './json-text.js';

/** A stamp in messages: UTC with milliseconds, `2023-02-23T14:00:00.000Z`. */
export const stampSchema = z.iso.datetime({ precision: 3 });

/** The start of a page: the page's number, or the row id after or before which the page is. */
const cursorSchema = z.discriminatedUnion('from', [
  z.object({ from: z.literal('page'), page: z.int().min(1) }),
  z.object({ from: z.literal('after'), id: z.int() }),
  z.object({ from: z.literal('before'), id: z.int() }),
]);

/** Lowest and highest row id of a walk with `since`, fixed by its first page. */
const idRangeSchema = z.object({ first: z.int(), last: z.int() });
export type IdRange = z.output<typeof idRangeSchema>;

/** The request of the lists of subscriptions and of episodes. */
export const listRequestSchema = z.object({
  userId: z.guid(),
  /** Only rows that changed after this stamp; absent for all rows. */
  since: stampSchema.optional(),
  perPage: z.int().min(1),
  /** Maximum bytes of the items' JSON. A page that would exceed it ends earlier. */
  maxBytes: z.int().min(1).optional(),
  cursor: cursorSchema,
  /** `total` of the walk's first page; absent in the request for that page. */
  total: z.int().optional(),
  /** {@link IdRange} of the walk; absent in the request for its first page. */
  span: idRangeSchema.optional(),
  /** Clock of the page that the client has. If the clock is current, the reply is `unchanged`. */
  knownClock: stampSchema.optional(),
});
export type ListRequest = z.output<typeof listRequestSchema>;

/** Returns the schema of a list's reply. Clock, items and total are of one database snapshot. */
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
      /** {@link IdRange} of the walk; only on a non-empty first page of a list with `since`. */
      span: idRangeSchema.optional(),
      /** True if more rows follow in the direction of the request. */
      more: z.boolean(),
    }),
  ]);
}
