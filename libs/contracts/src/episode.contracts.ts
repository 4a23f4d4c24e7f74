import { z } from 'zod';
import { episodeSchema, uploadedSchema } from './episode.fields.js';
import { jsonOf } from './json.text.js';
import { listReplySchema, listRequestSchema, stampSchema } from './list.schemas.js';
import { rpc } from './rpc.js';
import { furtherSchema, readerSchema } from './reader.schemas.js';
import { entryFailureCodes } from './shown.schemas.js';

/** Uploads episode states; each entry gets a verdict of its own (POST /episodes). */
export const uploadEpisodes = rpc({
  pattern: 'episode.upload',
  write: true,
  request: z.object({
    userId: z.guid(),
    /** The body as the client sent it: `readEntry` says what of an entry is wrong. */
    body: z.object({ episodes: z.array(z.unknown()) }),
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

/** The most entries of one {@link uploadActions}. */
export const mostActions = 250;

/** A status and when the client set it: RFC 3339, in full; absent where the client did not say, which counts as its arrival. */
const acted = <Value extends z.ZodType>(value: Value) => z.object({ value, at: z.string().optional() }).optional();
const statuses = z.object({
  playbackPosition: acted(z.number().min(0)),
  playedStatus: acted(z.boolean()),
  newStatus: acted(z.boolean()),
  downloadStatus: acted(z.boolean()),
  favoriteStatus: acted(z.boolean()),
});
export type ActedStatuses = z.output<typeof statuses>;

/**
 * Uploads what clients of the gpodder API did with episodes. Entries name their podcast by the URL of its feed. A feed
 * without a subscription gets one that is not subscribed to. `unknown_subscription` is the answer where that is
 * impossible: the podcast was deleted, or a quota is used up.
 */
export const uploadActions = rpc({
  pattern: 'episode.upload_actions',
  write: true,
  request: z.object({
    userId: z.guid(),
    sessionId: z.guid().optional(),
    entries: z
      .array(
        z.object({
          /** As the subscription service accepts it. */
          feedUrl: z.string(),
          episodeGuid: z.string().optional(),
          enclosureUrl: z.string().optional(),
          /** In seconds. */
          duration: z.number().positive().optional(),
          statuses,
        }),
      )
      .max(mostActions),
  }),
  reply: z.object({
    /** The last time stamp that this session was told with the list of episodes; 1 where that is not known. */
    timestamp: z.int().min(1),
    /** What became of each entry: null where it was applied. */
    verdicts: z.array(z.enum(entryFailureCodes).nullable()),
    /**
     * The current URLs of feeds that were named by another one: `[sent, current]`, each once; none that differs in its
     * scheme or trailing slashes alone.
     */
    moved: z.array(z.tuple([z.string(), z.string()])),
  }),
});

/**
 * Reads the favourite status of one episode, and sets it where `favorite` is present. The podcast and the episode are
 * named by their URLs, as in {@link uploadActions}. `invalid` is the answer to an episode beyond the quota.
 */
export const setFavorite = rpc({
  pattern: 'episode.set_favorite',
  write: true,
  request: z.object({
    userId: z.guid(),
    feedUrl: z.string(),
    enclosureUrl: z.string(),
    /** Absent to leave the status as it is. */
    favorite: z.boolean().optional(),
    /** Whether a podcast and an episode that do not exist yet are made. */
    ensure: z.boolean(),
  }),
  reply: z.object({
    /** Null where there is no such episode; `favorite` is absent where it was never set. */
    episode: z.object({ syncId: z.guid(), favorite: z.boolean().optional() }).nullable(),
  }),
});

/** An episode as the gpodder API needs it: statuses with their full times, unknown texts empty. */
const actedEpisodeSchema = z.object({
  syncId: z.guid(),
  feedUrl: z.string(),
  podcastGuid: z.guid(),
  episodeGuid: z.string(),
  enclosureUrl: z.string(),
  episodeUrl: z.string(),
  title: z.string(),
  /** The epoch where it is unknown. */
  publishDate: stampSchema,
  duration: z.number().positive().optional(),
  statuses,
});
export type ActedEpisode = z.output<typeof actedEpisodeSchema>;

/**
 * One page of the episodes whose state changed (gpodder API, GET episodes). With a reader it settles the user's clock and
 * remembers what this reader is told; without one, or with `feedUrl`, nothing is remembered.
 */
export const listActions = rpc({
  pattern: 'episode.list_actions',
  write: true,
  request: z.object({
    userId: z.guid(),
    reader: readerSchema.optional(),
    /** Whether the read leaves the sync state of the reader as it is. */
    readOnly: z.boolean().optional(),
    /** Only of this feed, by any URL that names it. */
    feedUrl: z.string().optional(),
    /** Only favourites. */
    favorites: z.boolean().optional(),
    perPage: z.int().min(1).max(1_000),
    /** The `next` of the page before. */
    further: furtherSchema.optional(),
  }),
  reply: z.object({
    /** Whole seconds: what the client sends as `since` next time. That of an answer's first page counts. */
    timestamp: z.int().min(1),
    /** In the order of their row ids, each on one page; what takes more than 2 MiB of JSON is left to the next one. */
    episodes: z.array(actedEpisodeSchema),
    next: furtherSchema.optional(),
  }),
});
