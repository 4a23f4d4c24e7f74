import { z } from 'zod';
import { jsonOf, rpc } from '#contracts';

/** What the transport's tests ask their replicas for. */
export const probe = rpc({
  pattern: 'episode.probe',
  write: false,
  request: z.object({
    /** Comes back in the reply. */
    text: z.string(),
    /** How long the handler takes. */
    takesMs: z.number().optional(),
    outcome: z.enum(['die', 'fail', 'throw', 'lie', 'hang', 'unspeakable']).optional(),
  }),
  reply: z.object({
    text: z.string(),
    replica: z.string(),
    requestId: z.string(),
    correlationId: z.string().optional(),
    remainingMs: z.number(),
  }),
});

/** What is answered with JSON as it is: all of a reply or a field of it. */
export const quote = rpc({
  pattern: 'episode.quote',
  write: false,
  request: z.object({ json: z.string(), as: z.enum(['reply', 'field']) }),
  reply: z.union([
    jsonOf(z.unknown()),
    z.object({ items: jsonOf(z.unknown()), more: z.boolean() }),
  ]),
});

/** What names a secret. Its handler throws an error that repeats it. */
export const confide = rpc({
  pattern: 'episode.confide',
  write: false,
  secret: true,
  request: z.object({ text: z.string() }),
  reply: z.object({}),
});

/** What no replica handles. */
export const unhandled = rpc({
  pattern: 'episode.unhandled',
  write: false,
  request: z.object({}),
  reply: z.object({}),
});
