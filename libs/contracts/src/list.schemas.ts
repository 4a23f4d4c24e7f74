import { z } from 'zod';
import { jsonOf } from './json.text.js';

/** A time stamp inside the system: UTC with milliseconds, `2023-02-23T14:00:00.000Z`. */
export const stampSchema = z.iso.datetime({ precision: 3 });

/** Where a page starts: by its number, or after or before a row of the page that linked to it. */
const cursorSchema = z.discriminatedUnion('from', [
  z.object({ from: z.literal('page'), page: z.int().min(1) }),
  z.object({ from: z.literal('after'), id: z.int() }),
  z.object({ from: z.literal('before'), id: z.int() }),
]);

/** The lowest and the highest row id that matched `since` when a walk began; its later pages stay between them. */
const idRangeSchema = z.object({ first: z.int(), last: z.int() });
export type IdRange = z.output<typeof idRangeSchema>;

/** What both lists take. */
export const listRequestSchema = z.object({
  userId: z.guid(),
  /** Only rows changed strictly later; omitted: all rows. */
  since: stampSchema.optional(),
  perPage: z.int().min(1),
  /** The most bytes of JSON that the items may take together: a page that would have more ends earlier. */
  maxBytes: z.int().min(1).optional(),
  position: cursorSchema,
  /** The total that the walk's first page counted. */
  total: z.int().optional(),
  /** The {@link IdRange} that the walk's first page found. */
  span: idRangeSchema.optional(),
  /** The user's clock in the caller's copy: if it has not advanced, the answer is `unchanged` and no row is read. */
  knownClock: stampSchema.optional(),
});
export type ListRequest = z.output<typeof listRequestSchema>;

/** What both lists answer. Clock, rows and total come from one snapshot; the items are as the client gets them. */
export function listReplySchema<Item extends z.ZodType>(item: Item) {
  return z.discriminatedUnion('unchanged', [
    z.object({ unchanged: z.literal(true), clock: stampSchema }),
    z.object({
      unchanged: z.literal(false),
      clock: stampSchema,
      total: z.int().min(0),
      items: jsonOf(z.array(item)),
      /** Row ids at the two ends of the page; absent on an empty one. */
      firstId: z.int().optional(),
      lastId: z.int().optional(),
      /** The {@link IdRange} of the walk: on a first page with `since` that is not empty. */
      span: idRangeSchema.optional(),
      /** Whether rows follow in the direction of the walk. */
      more: z.boolean(),
    }),
  ]);
}
