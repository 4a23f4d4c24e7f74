import { z } from 'zod';
import { jsonOf } from './json-text.js';
import { rpc } from './rpc.js';
import { stampSchema } from './list.schemas.js';
import { entryFailureCode } from './shown.schemas.js';

/**
 * The source of titles and episodes of feeds: `off`, none; `pushed`, the catalogue of a platform
 * (POST /feeds); `fetched`, the servers of the publishers.
 */
export const feedsMode = z.enum(['off', 'pushed', 'fetched']);
export type FeedsMode = z.output<typeof feedsMode>;

/** The status of a feed in answers (docs/reference/interface-feeds.md, "Status"). */
export const shownFeedStatuses = [
  'pending',
  'ok',
  'failing',
  'gone',
  'refused',
  'private',
] as const;

/** A subscribed podcast as its publisher describes it (GET /feeds). */
export const podcastSchema = z
  .object({
    guid: z.guid().describe("The subscription's current guid."),
    feed_url: z.string(),
    status: z.enum(shownFeedStatuses),
    title: z.string().optional().describe("The listener's own, else the publisher's."),
    author: z.string().optional(),
    description: z.string().optional().describe('Plain text.'),
    link: z.string().optional(),
    language: z.string().optional(),
    image_url: z.string().optional().describe("At the publisher's server."),
    artwork: z
      .string()
      .optional()
      .describe(
        'A WebP image of 256 x 256 pixels at this server, whose URL never changes its content; ' +
          'else the `artwork_url` that a platform pushed.',
      ),
    latest_publish_date: stampSchema.optional(),
  })
  .meta({ id: 'Podcast' });
export type Podcast = z.output<typeof podcastSchema>;

/** An episode of a feed, in the form of an entry of POST /episodes (GET /feeds/episodes). */
export const feedEpisodeSchema = z
  .object({
    podcast_guid: z.guid(),
    episode_guid: z.string().optional(),
    title: z.string().optional(),
    publish_date: stampSchema.optional(),
    enclosure_url: z.string().optional(),
    episode_url: z.string().optional(),
    duration: z.number().positive().optional().describe('Seconds.'),
    image_url: z.string().optional().describe("At the publisher's server."),
  })
  .meta({ id: 'FeedEpisode' });
export type FeedEpisode = z.output<typeof feedEpisodeSchema>;

/** Maximum number of podcasts on a page. Their texts have at most 2 MB in total. */
export const maxPodcasts = 100;

/** Reads a page of the subscribed podcasts in the order of row ids (GET /feeds). */
export const listPodcasts = rpc({
  pattern: 'feed.list_podcasts',
  write: false,
  request: z.object({
    userId: z.guid(),
    /** Value of `next` in the previous page; 0 for the first page. */
    after: z.int().min(0),
    perPage: z.int().min(1).max(maxPodcasts),
    /** Only podcasts whose feed or subscription changed later; absent for all. */
    since: stampSchema.optional(),
    /** First part of the URLs in `artwork` (see {@link readArtwork}). Absent: no `artwork`. */
    artworkUrl: z.string().optional(),
    /** Versions of this page that the client has. If one is current, the reply has no feeds. */
    versions: z.array(z.string()).optional(),
  }),
  reply: z.object({
    /** Version of the page: it changes if a row of the page changes. */
    version: z.string(),
    feeds: jsonOf(z.array(podcastSchema)),
    next: z.int().optional(),
    /** The client's next `since`, with which it misses no change. */
    syncTimestamp: stampSchema,
  }),
});

/** Reads the newest episodes of a podcast. Fails with `not_found` without a subscription. */
export const listFeedEpisodes = rpc({
  pattern: 'feed.list_episodes',
  write: false,
  request: z.object({ userId: z.guid(), guid: z.guid() }),
  reply: z.object({ episodes: jsonOf(z.array(feedEpisodeSchema)) }),
});

/** Reads a page of the episodes that appeared in subscribed feeds after `since`. */
export const listNewEpisodes = rpc({
  pattern: 'feed.list_new_episodes',
  write: false,
  request: z.object({ userId: z.guid(), after: z.int().min(0), since: stampSchema }),
  reply: z.object({
    episodes: jsonOf(z.array(feedEpisodeSchema)),
    next: z.int().optional(),
    syncTimestamp: stampSchema,
  }),
});

/**
 * Reads the thumbnail of a podcast's artwork, in base64 (GET /feeds/artwork/{id}). Fails with
 * `not_found` for an unknown id.
 */
export const readArtwork = rpc({
  pattern: 'feed.read_artwork',
  write: false,
  request: z.object({ id: z.guid() }),
  reply: z.object({ webp: z.string() }),
});

/** The answer of POST /feeds/preview. */
export const feedPreviewSchema = z
  .object({
    status: z.enum(['ok', 'not_a_feed', 'private', 'refused', 'failed']),
    title: z.string().optional(),
    author: z.string().optional(),
    description: z.string().optional().describe('Plain text.'),
    link: z.string().optional(),
    picture: z.string().optional().describe('A WebP image of 256 x 256 pixels, as a `data:` URL.'),
    alternates: z
      .array(z.object({ feed_url: z.string(), title: z.string().optional() }))
      .optional()
      .describe('With `not_a_feed`: feeds that the page names.'),
  })
  .meta({ id: 'FeedPreview' });
export type FeedPreview = z.output<typeof feedPreviewSchema>;

/**
 * Fetches a feed, to show it before a subscription (POST /feeds/preview). Fails with `unavailable`
 * if too many previews wait.
 */
export const previewFeed = rpc({
  pattern: 'feed.preview',
  write: false,
  deadlineMs: 20_000,
  request: z.object({ feedUrl: z.string() }),
  reply: feedPreviewSchema,
});

/** Answer of /feeds/import: the user's last import of an account from another server. */
export const importSchema = z
  .object({
    source: z.string().describe('Address of the other server.'),
    login: z.string().describe('Name of the account there.'),
    state: z.enum(['waiting', 'running', 'stopped', 'failed', 'finished']),
    fault: z
      .enum([
        'credentials',
        'unsupported',
        'unreachable',
        'refused',
        'redirected',
        'timeout',
        'too_large',
        'interrupted',
        'internal',
      ])
      .optional()
      .describe('Why it failed.'),
    subscriptions: z.int().min(0),
    actions: z.int().min(0),
    favorites: z.int().min(0),
    skipped: z.int().min(0),
    skipped_entries: z
      .array(
        z.object({
          kind: z.string(),
          reason: z.string(),
          entry: z.string().optional().describe('Its start, as the other server sent it.'),
          count: z.int().min(1),
        }),
      )
      .describe('The first 50, then numbers of further ones.'),
  })
  .meta({ id: 'Import' });
export type ShownImport = z.output<typeof importSchema>;

/**
 * Starts an import, which then waits for {@link unlockImport} with the password. Replaces another
 * import of the user; continues an unfinished import of the same account. Fails with `unavailable`
 * if no replica can run the import.
 */
export const startImport = rpc({
  pattern: 'feed.start_import',
  write: false,
  deadlineMs: 15_000,
  request: z.object({ userId: z.guid(), source: z.string(), login: z.string() }),
  reply: z.object({
    id: z.guid(),
    /**
     * RSA public key (SPKI in DER, base64). Only the process that runs the import can decrypt a
     * password that is encrypted with this key.
     */
    publicKey: z.string(),
  }),
});

/**
 * Sends the password of an import, encrypted with RSA-OAEP and SHA-256. Has no effect if another
 * import has replaced that import.
 */
export const unlockImport = rpc({
  pattern: 'feed.unlock_import',
  write: false,
  secret: true,
  request: z.object({ userId: z.guid(), id: z.guid(), sealed: z.string() }),
  reply: importSchema,
});

/** Reads the user's last import. Fails with `not_found` if no import ran within the last day. */
export const readImport = rpc({
  pattern: 'feed.read_import',
  write: false,
  request: z.object({ userId: z.guid() }),
  reply: importSchema,
});

/** Stops the user's import within about a second. Fails with `not_found` without an import. */
export const stopImport = rpc({
  pattern: 'feed.stop_import',
  write: false,
  request: z.object({ userId: z.guid() }),
  reply: importSchema,
});

/** Maximum number of feeds in one request of {@link pushFeeds}. */
export const maxFeedsPerPush = 500;

/**
 * The answer of POST /feeds: successes and failures. An entry with invalid episodes is in both
 * lists, because the rest of the entry is stored.
 */
export const pushedSchema = z
  .object({
    success: z.array(z.object({ feed_url: z.string() })),
    failure: z.array(
      z.object({ feed_url: z.string(), code: entryFailureCode, message: z.string() }),
    ),
  })
  .meta({ id: 'PushAnswer' });
export type PushAnswer = z.output<typeof pushedSchema>;

/** Stores the content of feeds, with one result per entry (POST /feeds). Idempotent. */
export const pushFeeds = rpc({
  pattern: 'feed.push',
  write: false,
  request: z.object({ body: z.object({ feeds: z.array(z.unknown()).max(maxFeedsPerPush) }) }),
  reply: jsonOf(pushedSchema),
});

/** Maximum number of guids in one request of {@link refreshFeeds}. */
export const maxRefreshed = 250;

/** Schedules feeds for a fetch now, except those that were fetched in the last 15 minutes. */
export const refreshFeeds = rpc({
  pattern: 'feed.refresh',
  write: false,
  request: z.object({ userId: z.guid(), guids: z.array(z.guid()).max(maxRefreshed) }),
  reply: z.object({}),
});
