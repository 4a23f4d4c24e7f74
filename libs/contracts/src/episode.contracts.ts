import { z } from 'zod';
import { listReplySchema, listRequestSchema, stampSchema } from './list.schemas.js';
import { rpc } from './rpc.js';

/** A status as the interface prints it: the time to the minute, no zone, UTC. */
function status<Value extends z.ZodType>(value: Value) {
  return z.object({ value, timestamp: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/) });
}

/** An episode as the interface shows it (Resources and their fields, Episode). */
export const episodeSchema = z.object({
  podcastGuid: z.guid(),
  syncId: z.guid(),
  episodeGuid: z.string(),
  title: z.string(),
  publishDate: stampSchema,
  enclosureUrl: z.string(),
  episodeUrl: z.string(),
  playbackPosition: status(z.number().min(0)).optional(),
  playedStatus: status(z.boolean()).optional(),
  newStatus: status(z.boolean()).optional(),
  downloadStatus: status(z.boolean()).optional(),
  favoriteStatus: status(z.boolean()).optional(),
});
export type Episode = z.output<typeof episodeSchema>;

/** The client's own name for an entry, returned as it was sent. */
const temporaryId = z.union([z.string(), z.number()]).optional();

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
  request: z.object({ userId: z.guid(), entries: z.array(episodeEntrySchema) }),
  reply: z.object({
    success: z.array(episodeSchema.extend({ temporaryId })),
    failure: z.array(
      z.object({
        podcastGuid: z.string().optional(),
        syncId: z.string().optional(),
        episodeGuid: z.string().optional(),
        temporaryId,
        message: z.string(),
      }),
    ),
  }),
});

/** One page of the episodes whose state changed (GET /episodes). */
export const listEpisodes = rpc({
  pattern: 'episode.list',
  write: false,
  request: listRequestSchema,
  reply: listReplySchema(episodeSchema),
});
