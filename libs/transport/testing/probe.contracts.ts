import { z } from 'zod';
import { jsonOf, rpc } from '#contracts';

/** Contract whose handler does what the request says: wait, fail, hang or kill the process. */
export const probe = rpc({
  pattern: 'episode.probe',
  write: false,
  request: z.object({
    /** Text that the reply repeats. */
    text: z.string(),
    /** Duration of the handler in milliseconds. */
    takesMs: z.number().optional(),
    outcome: z
      .enum(['kill_process', 'fail', 'throw', 'invalid_reply', 'hang', 'unserializable_reply'])
      .optional(),
  }),
  reply: z.object({
    text: z.string(),
    replica: z.string(),
    requestId: z.string(),
    correlationId: z.string().optional(),
    remainingMs: z.number(),
  }),
});

/** Contract whose reply is a JSON text, as a whole or as a field. */
export const jsonProbe = rpc({
  pattern: 'episode.probe_json',
  write: false,
  request: z.object({ json: z.string(), as: z.enum(['reply', 'field']) }),
  reply: z.union([
    jsonOf(z.unknown()),
    z.object({ items: jsonOf(z.unknown()), more: z.boolean() }),
  ]),
});

/** Contract with a secret payload; its handler throws an error that contains it. */
export const secretProbe = rpc({
  pattern: 'episode.probe_secret',
  write: false,
  secret: true,
  request: z.object({ text: z.string() }),
  reply: z.object({}),
});

/** Contract without a handler. */
export const unhandled = rpc({
  pattern: 'episode.unhandled',
  write: false,
  request: z.object({}),
  reply: z.object({}),
});
