import { z } from 'zod';

/**
 * The client that reads a list of the gpodder API, and its `since` (docs/reference/gpodder.md,
 * "Timestamps").
 */
export const readerSchema = z.object({
  /** The app password of the request. */
  credentialId: z.guid(),
  /** Absent without a session. */
  sessionId: z.guid().optional(),
  /** Whole seconds from the client; 0 if absent. */
  since: z.int().min(0),
});

/** The start of the next page of an answer; opaque to callers, which return it unchanged. */
export const furtherSchema = z.object({ after: z.int(), since: z.int().min(0), first: z.boolean() });
