import { z } from 'zod';

/** A gpodder client that reads a list (docs/reference/gpodder.md, "Timestamps"). */
export const readerSchema = z.object({
  credentialId: z.guid(),
  sessionId: z.guid().optional(),
  /** Whole seconds from the client; 0 if absent. */
  since: z.int().min(0),
});

/** The start of an answer's next page; opaque to callers. */
export const furtherSchema = z.object({
  after: z.int(),
  since: z.int().min(0),
  /** True if the answer lists all rows, because the client's state is unknown or empty. */
  first: z.boolean(),
});
