import { z } from 'zod';
import { jsonOf } from './json.text.js';
import { listReplySchema, listRequestSchema } from './list.schemas.js';
import { furtherSchema, readerSchema } from './reader.schemas.js';
import { rpc } from './rpc.js';
import { subscribedSchema, subscriptionSchema, updatedSchema } from './shown.schemas.js';

/** Adds a batch; each entry gets a verdict of its own (POST /subscriptions). */
export const subscribe = rpc({
  pattern: 'subscription.subscribe',
  write: true,
  request: z.object({
    userId: z.guid(),
    /** The body as the client sent it: without a `feed_url` to answer with, an entry makes all of it invalid. */
    body: z.object({
      subscriptions: z.array(
        z.object({ feed_url: z.string(), guid: z.unknown().optional(), timestamp: z.unknown().optional() }),
      ),
    }),
  }),
  reply: jsonOf(subscribedSchema),
});

/** Changes a subscription; replies with the fields that were sent and new stamps (PATCH /subscriptions/{guid}). */
export const updateSubscription = rpc({
  pattern: 'subscription.update',
  write: true,
  // A merge of two subscriptions moves all their episodes: tens of thousands take seconds.
  deadlineMs: 20_000,
  request: z.object({
    userId: z.guid(),
    guid: z.guid(),
    newFeedUrl: z.string().optional(),
    newGuid: z.guid().optional(),
    isSubscribed: z.boolean().optional(),
    timestamp: z.string().optional(),
  }),
  reply: jsonOf(updatedSchema),
});

/** Reads one subscription; fails with `not_found` or `gone` (GET /subscriptions/{guid}). */
export const getSubscription = rpc({
  pattern: 'subscription.get',
  write: false,
  request: z.object({ userId: z.guid(), guid: z.guid() }),
  reply: jsonOf(subscriptionSchema),
});

/** One page of the subscriptions that changed (GET /subscriptions). */
export const listSubscriptions = rpc({
  pattern: 'subscription.list',
  write: false,
  request: listRequestSchema,
  reply: listReplySchema(subscriptionSchema),
});

/** With the SHA-256 of the last URL, where the subscription in which the page before ended may have more of them. */
const furtherFeedsSchema = furtherSchema.extend({
  key: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
});

/**
 * One page of the feeds that were subscribed and unsubscribed (gpodder API, GET subscriptions). With a reader it settles the
 * user's clock and remembers what this reader is told; without one it is all that are subscribed, and nothing is remembered.
 */
export const listFeeds = rpc({
  pattern: 'subscription.list_feeds',
  write: true,
  request: z.object({
    userId: z.guid(),
    reader: readerSchema.optional(),
    /** Whether the read leaves the sync state of the reader as it is. */
    readOnly: z.boolean().optional(),
    /** The `next` of the page before. */
    further: furtherFeedsSchema.optional(),
  }),
  reply: z.object({
    /** Whole seconds: what the client sends as `since` next time. That of an answer's first page counts. */
    timestamp: z.int().min(1),
    add: z.array(z.string()),
    remove: z.array(z.string()),
    /** Present where there is more. */
    next: furtherFeedsSchema.optional(),
  }),
});

/** A subscription by what clients of the gpodder API and their data are kept by. */
const feedSchema = z.object({
  /** Its current URL. */
  feedUrl: z.string(),
  /** Its current guid. */
  guid: z.guid(),
  /** The guid that it had first, where that is another one: it stays, whatever becomes of the guid. */
  firstGuid: z.guid().optional(),
});
export type Feed = z.output<typeof feedSchema>;

/** The most feeds of one {@link changeFeeds}. */
export const mostFeeds = 5_000;
const feeds = z.array(z.string()).max(mostFeeds);

/**
 * Subscribes and unsubscribes (gpodder API, POST and PUT subscriptions): one write with one stamp, which only real changes
 * cause. All URLs are as this service accepts them.
 */
export const changeFeeds = rpc({
  pattern: 'subscription.change_feeds',
  write: true,
  // As many new subscriptions at once take seconds.
  deadlineMs: 20_000,
  request: z.object({
    userId: z.guid(),
    sessionId: z.guid().optional(),
    /** The app password that it came with. */
    credentialId: z.guid(),
    add: feeds,
    remove: feeds,
    /** Whether what is not in `add` is unsubscribed: a whole list replaces the one that there is. */
    whole: z.boolean(),
  }),
  reply: z.object({
    /** The time stamp of the answer to the client. */
    timestamp: z.int().min(1),
    /** Of `add` and of `remove`, in their order: the subscription that is meant; null where there is none, or it was refused. */
    add: z.array(feedSchema.nullable()),
    remove: z.array(feedSchema.nullable()),
  }),
});

/** Finds the subscriptions that URLs mean, deleted ones aside. */
export const findFeeds = rpc({
  pattern: 'subscription.find_feeds',
  write: false,
  request: z.object({ userId: z.guid(), feedUrls: feeds }),
  reply: z.object({ feeds: z.array(feedSchema.nullable()) }),
});

/** Finds the subscription that a URL means, and makes one that is not subscribed to where there is none. */
export const ensureFeed = rpc({
  pattern: 'subscription.ensure_feed',
  write: true,
  request: z.object({ userId: z.guid(), feedUrl: z.string() }),
  reply: z.object({
    /** Null where the podcast was deleted, or a quota is used up. */
    feed: feedSchema.nullable(),
  }),
});

/** How many are subscribed, as {@link listFeeds} lists them without a reader. */
export const countFeeds = rpc({
  pattern: 'subscription.count_feeds',
  write: false,
  request: z.object({ userId: z.guid() }),
  reply: z.object({ subscribed: z.int().min(0) }),
});
