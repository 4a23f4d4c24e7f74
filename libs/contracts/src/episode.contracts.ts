import { z } from 'zod';
import { episodeSchema, uploadedSchema } from './episode-fields.js';
import { jsonOf } from './json-text.js';
import { listReplySchema, listRequestSchema, stampSchema } from './list.schemas.js';
import { rpc } from './rpc.js';
import { furtherSchema, readerSchema } from './reader.schemas.js';
import { entryFailureCodes } from './shown.schemas.js';

/** Uploads episode states, with one result per entry (POST /episodes). */
export const uploadEpisodes = rpc({
  pattern: 'episode.upload',
  write: true,
  request: z.object({
    userId: z.guid(),
    /** The body as the client sent it; `parseEntry` validates its entries. */
    body: z.object({ episodes: z.array(z.unknown()) }),
    /** Maximum bytes of the reply. Entries that would exceed it fail with `limit_reached`. */
    maxBytes: z.int().min(1).optional(),
  }),
  reply: jsonOf(uploadedSchema),
});

/** Reads a page of the episodes with changed states (GET /episodes). */
export const listEpisodes = rpc({
  pattern: 'episode.list',
  write: false,
  request: listRequestSchema.extend({
    /** Only episodes of the podcast with this current or former guid. */
    podcastGuid: z.guid().optional(),
  }),
  reply: listReplySchema(episodeSchema),
});

/** Maximum number of entries of one {@link uploadActions}. */
export const maxActions = 250;

/** Schema of a status with the client's time (RFC 3339), by default the time of arrival. */
const createStatusSchema = <Value extends z.ZodType>(value: Value) =>
  z.object({ value, at: z.string().optional() }).optional();
const actionStatusesSchema = z.object({
  playbackPosition: createStatusSchema(z.number().min(0)),
  playedStatus: createStatusSchema(z.boolean()),
  newStatus: createStatusSchema(z.boolean()),
  downloadStatus: createStatusSchema(z.boolean()),
  favoriteStatus: createStatusSchema(z.boolean()),
});
export type ActionStatuses = z.output<typeof actionStatusesSchema>;

/**
 * Stores the episode states that actions of gpodder clients report. An entry names its podcast by
 * the feed URL. An unknown feed gets a subscription with `is_subscribed` false. If that is
 * impossible (deleted podcast, quota reached), the verdict is `unknown_subscription`.
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
          /** A URL that the subscription service accepts. */
          feedUrl: z.string(),
          episodeGuid: z.string().optional(),
          enclosureUrl: z.string().optional(),
          duration: z.number().positive().optional(),
          statuses: actionStatusesSchema,
        }),
      )
      .max(maxActions),
  }),
  reply: z.object({
    /** Timestamp of the last download of episodes in this session; 1 if none is stored. */
    timestamp: z.int().min(1),
    /** One verdict per entry: null if the entry was applied, else the code of its failure. */
    verdicts: z.array(z.enum(entryFailureCodes).nullable()),
    /** Pairs `[sent, current]` of URLs that differ in more than scheme and trailing slashes. */
    moved: z.array(z.tuple([z.string(), z.string()])),
  }),
});

/**
 * Fills in missing titles and other missing metadata of a user's episodes, from the episodes of the
 * feed that the feed service stores. Idempotent: existing values stay.
 */
export const describeEpisodes = rpc({
  pattern: 'episode.describe',
  write: true,
  request: z.object({ userId: z.guid(), feedUrl: z.string() }),
  /** The number of changed episodes. */
  reply: z.object({ described: z.int().min(0) }),
});

/**
 * Returns the favourite status of an episode, and sets it first if `favorite` is present. URLs name
 * podcast and episode. Fails with `invalid` if a new episode would exceed the quota.
 */
export const setFavorite = rpc({
  pattern: 'episode.set_favorite',
  write: true,
  request: z.object({
    userId: z.guid(),
    feedUrl: z.string(),
    enclosureUrl: z.string(),
    favorite: z.boolean().optional(),
    /** True to create a missing podcast and episode. */
    ensure: z.boolean(),
  }),
  reply: z.object({
    /** Null if the user has no such episode; `favorite` is absent if it was never set. */
    episode: z.object({ syncId: z.guid(), favorite: z.boolean().optional() }).nullable(),
  }),
});

/** An episode in replies for the gpodder API: statuses with full times, missing texts empty. */
const gpodderEpisodeSchema = z.object({
  syncId: z.guid(),
  feedUrl: z.string(),
  podcastGuid: z.guid(),
  episodeGuid: z.string(),
  enclosureUrl: z.string(),
  episodeUrl: z.string(),
  title: z.string(),
  /** Publish date; 1970 if it is missing. */
  publishDate: stampSchema,
  duration: z.number().positive().optional(),
  statuses: actionStatusesSchema,
});
export type GpodderEpisode = z.output<typeof gpodderEpisodeSchema>;

/**
 * Reads a page of the episodes with changed states (gpodder API, GET episodes). With a reader and
 * without `feedUrl`, seals the user's clock and stores the reader's state (libs/gpodder-sync).
 */
export const listActions = rpc({
  pattern: 'episode.list_actions',
  write: true,
  request: z.object({
    userId: z.guid(),
    reader: readerSchema.optional(),
    /** True to leave the sync state of the client unchanged. */
    readOnly: z.boolean().optional(),
    /** Any URL of the feed whose episodes to read; absent for all feeds. */
    feedUrl: z.string().optional(),
    /** True to read favourite episodes only. */
    favorites: z.boolean().optional(),
    perPage: z.int().min(1).max(1_000),
    /** Value of `next` in the previous page; absent for the first page. */
    further: furtherSchema.optional(),
  }),
  reply: z.object({
    /** The client's next `since`, in seconds. Callers use only the timestamp of the first page. */
    timestamp: z.int().min(1),
    /** Episodes in the order of row ids. A page has at most 2 MiB of JSON. */
    episodes: z.array(gpodderEpisodeSchema),
    next: furtherSchema.optional(),
  }),
});
