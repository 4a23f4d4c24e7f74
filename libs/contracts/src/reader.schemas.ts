import { z } from 'zod';

/** Who reads a list of the gpodder API, and from where on (docs/reference/gpodder.md, "Timestamps"). */
export const readerSchema = z.object({
  /** The app password that it came with. */
  credentialId: z.guid(),
  /** Absent where the client keeps no session. */
  sessionId: z.guid().optional(),
  /** Whole seconds, as the client sent it; 0 where it sent none. */
  since: z.int().min(0),
});

/** Where the next page of one answer starts; made by the service, and given back to it as it is. */
export const furtherSchema = z.object({ after: z.int(), since: z.int().min(0), first: z.boolean() });
