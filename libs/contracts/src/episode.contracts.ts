import { z } from 'zod';
import { episodeEntrySchema, episodeSchema, uploadedSchema } from './episode.fields.js';
import { jsonOf } from './json.text.js';
import { listReplySchema, listRequestSchema } from './list.schemas.js';
import { rpc } from './rpc.js';

/** Uploads episode states; each entry gets a verdict of its own (POST /episodes). */
export const uploadEpisodes = rpc({
  pattern: 'episode.upload',
  write: true,
  request: z.object({
    userId: z.guid(),
    entries: z.array(episodeEntrySchema),
    /**
     * The most bytes of JSON that the reply may have: an entry whose verdict has no room is not applied
     * (`limit_reached`).
     */
    maxBytes: z.int().min(1).optional(),
  }),
  reply: jsonOf(uploadedSchema),
});

/** One page of the episodes whose state changed (GET /episodes). */
export const listEpisodes = rpc({
  pattern: 'episode.list',
  write: false,
  request: listRequestSchema,
  reply: listReplySchema(episodeSchema),
});
