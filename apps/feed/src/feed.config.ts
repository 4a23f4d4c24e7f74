import { feedsMode } from '#contracts';
import { AddressGuard } from '#fetch';
import { commaList } from '#runtime';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';

const allowed = commaList.transform((entries, context) => {
  try {
    return new AddressGuard(entries);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

/** The configuration of the feed service. */
export const feedConfig = z.object({
  ...serviceConfig.shape,
  FEEDS: feedsMode
    .default('fetched')
    .describe('`pushed`: a platform sends the content of feeds, and publishers get no requests.'),
  FEEDS_ROLE: z
    .enum(['all', 'answers', 'fetches'])
    .default('all')
    .describe(
      '`answers`: the replica sends no requests to publishers. `fetches`: it answers no calls.',
    ),
  FEEDS_APPLY: z
    .enum(['all', 'moves', 'none'])
    .default('all')
    .describe(
      'Changes of feeds that reach subscriptions: new URLs and declared guids, or `moves` only.',
    ),
  FEEDS_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(32)
    .describe('Feeds that a replica fetches at the same time, each from another host.'),
  FEEDS_ALLOW: allowed
    .optional()
    .describe(
      'Networks, addresses or names that have feeds and are not public: ' +
        '`192.168.1.0/24,rss-bridge:3000,…`. Not set: none.',
    ),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Sent to publishers in `User-Agent`, so that they can find the operator.'),
});
export type FeedConfig = z.output<typeof feedConfig>;
