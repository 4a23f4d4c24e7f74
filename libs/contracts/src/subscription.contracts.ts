import { z } from 'zod';
import { jsonOf } from './json-text.js';
import { listReplySchema, listRequestSchema } from './list.schemas.js';
import { furtherSchema, readerSchema } from './reader.schemas.js';
import { rpc } from './rpc.js';
import {
  entryFailureCodes,
  subscribedSchema,
  subscriptionSchema,
  updatedSchema,
} from './shown.schemas.js';

/** Adds a batch of subscriptions, with one result per entry (POST /subscriptions). */
export const subscribe = rpc({
  pattern: 'subscription.subscribe',
  write: true,
  request: z.object({
    userId: z.guid(),
    /** The body as the client sent it. An entry without `feed_url` makes the whole body invalid. */
    body: z.object({
      subscriptions: z.array(
        z.object({
          feed_url: z.string(),
          guid: z.unknown().optional(),
          timestamp: z.unknown().optional(),
          title: z.unknown().optional(),
        }),
      ),
    }),
  }),
  reply: jsonOf(subscribedSchema),
});

/** Changes a subscription (PATCH /subscriptions/{guid}). */
export const updateSubscription = rpc({
  pattern: 'subscription.update',
  write: true,
  // Long, because a merge moves all episodes of a subscription: seconds for tens of thousands.
  deadlineMs: 20_000,
  request: z.object({
    userId: z.guid(),
    guid: z.guid(),
    newFeedUrl: z.string().optional(),
    newGuid: z.guid().optional(),
    isSubscribed: z.boolean().optional(),
    timestamp: z.string().optional(),
    /** The listener's title; empty to remove it. */
    title: z.string().optional(),
  }),
  reply: jsonOf(updatedSchema),
});

/**
 * Result of {@link applyFeed}. `taken`: another subscription has the new URL. `limit`: a quota or
 * the limit of merges forbids the change.
 */
export const feedChangeOutcome = z.enum(['applied', 'unchanged', 'taken', 'limit']);
export type FeedChangeOutcome = z.output<typeof feedChangeOutcome>;

/** Gives a user's subscription the new URL or guid that its publisher declares. Idempotent. */
export const applyFeed = rpc({
  pattern: 'subscription.apply_feed',
  write: true,
  // Long, because the change can merge subscriptions, like `updateSubscription`.
  deadlineMs: 20_000,
  request: z.object({
    userId: z.guid(),
    /** Expected current URL of the subscription. If the URL differs, nothing changes. */
    fromUrl: z.string(),
    toUrl: z.string().optional(),
    guid: z.guid().optional(),
  }),
  reply: z.object({ outcome: feedChangeOutcome }),
});

/** Reads one subscription (GET /subscriptions/{guid}). Fails with `not_found` or `gone`. */
export const getSubscription = rpc({
  pattern: 'subscription.get',
  write: false,
  request: z.object({ userId: z.guid(), guid: z.guid() }),
  reply: jsonOf(subscriptionSchema),
});

/** Reads a page of changed subscriptions (GET /subscriptions). */
export const listSubscriptions = rpc({
  pattern: 'subscription.list',
  write: false,
  request: listRequestSchema,
  reply: listReplySchema(subscriptionSchema),
});

/** Reads a page of former feed URLs or guids of subscriptions, also of deleted subscriptions. */
export const listFormerNames = rpc({
  pattern: 'subscription.list_former_names',
  write: false,
  request: z.object({
    userId: z.guid(),
    kind: z.enum(['feed_url', 'guid']),
    /** Value of `next` in the previous page; absent for the first page. */
    after: z
      .string()
      .regex(/^[0-9a-f-]{36,64}$/)
      .optional(),
  }),
  reply: z.object({
    /** Former URLs or guids, each with the current guid of its subscription. */
    names: z.array(z.object({ name: z.string(), guid: z.guid() })),
    next: z.string().optional(),
  }),
});

/**
 * The start of the next page of feeds. `key` is the SHA-256 of the last URL on the page, if more
 * URLs of its subscription can follow.
 */
const furtherFeedsSchema = furtherSchema.extend({
  key: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
});

/**
 * Reads a page of subscribed and unsubscribed feeds (gpodder API, GET subscriptions). With a
 * reader, it also seals the user's clock and stores the client's sync state (libs/gpodder-sync).
 * Without a reader, it returns all subscribed feeds and stores nothing.
 */
export const listFeeds = rpc({
  pattern: 'subscription.list_feeds',
  write: true,
  request: z.object({
    userId: z.guid(),
    reader: readerSchema.optional(),
    /** True to leave the sync state of the client unchanged. */
    readOnly: z.boolean().optional(),
    /** Value of `next` in the previous page; absent for the first page. */
    further: furtherFeedsSchema.optional(),
  }),
  reply: z.object({
    /** The client's next `since`, in seconds. Callers use only the timestamp of the first page. */
    timestamp: z.int().min(1),
    add: z.array(z.string()),
    /** Titles that the listener chose, in the order of `add`; absent if there are none. */
    titles: z.array(z.string().nullable()).optional(),
    remove: z.array(z.string()),
    next: furtherFeedsSchema.optional(),
  }),
});

/** URL and guids of a subscription, by which data of gpodder clients is stored. */
const feedSchema = z.object({
  feedUrl: z.string(),
  guid: z.guid(),
  /** The first guid, which never changes; absent if it is the current one. */
  firstGuid: z.guid().optional(),
});
export type Feed = z.output<typeof feedSchema>;

/** Maximum number of feeds to add, and of feeds to remove, in one {@link changeFeeds}. */
export const maxFeeds = 5_000;
const feedUrlsSchema = z.array(z.string()).max(maxFeeds);

/**
 * Subscribes to and unsubscribes from feeds (gpodder API, POST and PUT subscriptions) in one write.
 * A request without an effect does not advance the clock. All URLs must be valid feed URLs.
 */
export const changeFeeds = rpc({
  pattern: 'subscription.change_feeds',
  write: true,
  // Long, because the maximum number of new subscriptions takes seconds.
  deadlineMs: 20_000,
  request: z.object({
    userId: z.guid(),
    sessionId: z.guid().optional(),
    credentialId: z.guid(),
    add: feedUrlsSchema,
    /** Titles in the order of `add`; ignored for a subscription that ever had a title. */
    titles: z.array(z.string().nullable()).max(maxFeeds).optional(),
    remove: feedUrlsSchema,
    /** True to unsubscribe from all feeds that are not in `add`. */
    whole: z.boolean(),
  }),
  reply: z.object({
    /** The client's next `since`, in seconds. */
    timestamp: z.int().min(1),
    /** Feeds in the order of the sent URLs; null for a rejected URL or without a subscription. */
    add: z.array(feedSchema.nullable()),
    remove: z.array(feedSchema.nullable()),
    /** Why URLs were rejected: a code for each null in `add`; absent if there is none. */
    rejections: z.array(z.enum(entryFailureCodes)).optional(),
  }),
});

/** Finds the subscriptions of URLs, in their order; null if none exists or it is deleted. */
export const findFeeds = rpc({
  pattern: 'subscription.find_feeds',
  write: false,
  request: z.object({ userId: z.guid(), feedUrls: feedUrlsSchema }),
  reply: z.object({ feeds: z.array(feedSchema.nullable()) }),
});

/** Finds the subscription of a URL. Creates a missing one with `is_subscribed` false. */
export const ensureFeed = rpc({
  pattern: 'subscription.ensure_feed',
  write: true,
  request: z.object({ userId: z.guid(), feedUrl: z.string() }),
  reply: z.object({
    /** Null if the user deleted the podcast or has reached the quota. */
    feed: feedSchema.nullable(),
  }),
});

/** Returns the number of feeds to which the user subscribes. */
export const countFeeds = rpc({
  pattern: 'subscription.count_feeds',
  write: false,
  request: z.object({ userId: z.guid() }),
  reply: z.object({ subscribed: z.int().min(0) }),
});
