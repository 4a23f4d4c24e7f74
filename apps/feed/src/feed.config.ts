import { feedsMode } from '#contracts';
import { AddressGuard } from '#fetch';
import { commaList } from '#runtime';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';

const allowedHosts = commaList.transform((entries, context) => {
  try {
    return new AddressGuard(entries);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

export const feedConfig = z.object({
  // Events and stored answers of repeated requests belong to services that write data of users.
  ...serviceConfig.omit({ EVENTS: true, QUOTA_STORED_ANSWER_BYTES: true }).shape,
  FEEDS: feedsMode
    .default('fetched')
    .describe(
      '`fetched`: from their publishers. `pushed`: a platform sends them by `POST /feeds`, and ' +
        'publishers get no requests. `off`: no feeds.',
    ),
  FEEDS_ROLE: z
    .enum(['all', 'answers', 'fetches'])
    .default('all')
    .describe(
      '`answers`: a replica answers other services and fetches no feeds. `fetches`: it only ' +
        'fetches. `all`: both.',
    ),
  FEEDS_APPLY: z
    .enum(['all', 'moves', 'none'])
    .default('all')
    .describe(
      'Changes of feeds that are applied to subscriptions. `moves`: new URLs. `all`: also ' +
        'declared guids.',
    ),
  FEEDS_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(32)
    .describe(
      'Maximum number of feeds that a replica fetches at a time, each from another host. It ' +
        'starts at most about twice as many per second.',
    ),
  FEEDS_ALLOW: allowedHosts
    .optional()
    .describe(
      'Private networks, addresses or names from which feeds can be fetched and accounts ' +
        'imported, also by http: `192.168.1.0/24,rss-bridge:3000,…`. Not set: none.',
    ),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Sent to publishers in `User-Agent`, so that they can find the operator.'),
});
export type FeedConfig = z.output<typeof feedConfig>;
