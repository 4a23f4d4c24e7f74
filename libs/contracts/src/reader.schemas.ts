import { z } from 'zod';

/** The gpodder client that reads a list (docs/reference/gpodder.md, "Timestamps"). */
export const readerSchema = z.object({
  credentialId: z.guid(),
  sessionId: z.guid().optional(),
  /** `since` of the client, in seconds; 0 if the client sent none. */
  since: z.int().min(0),
});

/** The start of the next page of a list. Callers send it back unchanged. */
export const furtherSchema = z.object({
  /** Id of the last row of the previous page. */
  after: z.int(),
  since: z.int().min(0),
  /** True if the list has all rows, because the client's sync state is missing or empty. */
  first: z.boolean(),
});
