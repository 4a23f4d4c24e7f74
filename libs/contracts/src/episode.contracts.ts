import { z } from 'zod';
import { jsonOf } from './json.text.js';
import { listReplySchema, listRequestSchema } from './list.schemas.js';
import { rpc } from './rpc.js';
import { episodeSchema, uploadedSchema } from './shown.schemas.js';

/** One entry of an upload as the client sent it, fields renamed and nothing judged yet; `null` stands for what was no object. */
export const episodeEntrySchema = z
  .object({
    podcastGuid: z.unknown(),
    syncId: z.unknown(),
    episodeGuid: z.unknown(),
    title: z.unknown(),
    publishDate: z.unknown(),
    enclosureUrl: z.unknown(),
    episodeUrl: z.unknown(),
    playbackPosition: z.unknown(),
    playedStatus: z.unknown(),
    newStatus: z.unknown(),
    downloadStatus: z.unknown(),
    favoriteStatus: z.unknown(),
    temporaryId: z.unknown(),
  })
  .partial()
  .nullable();
export type EpisodeEntry = z.output<typeof episodeEntrySchema>;

/** Uploads episode states; each entry gets a verdict of its own (POST /episodes). */
export const uploadEpisodes = rpc({
  pattern: 'episode.upload',
  write: true,
  request: z.object({
    userId: z.guid(),
    entries: z.array(episodeEntrySchema),
    /** The most bytes of JSON that the reply may have: an entry whose verdict has no room is not applied (`limit_reached`). */
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
