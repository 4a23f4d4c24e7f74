import { feedsMode } from '#contracts';
import { databaseNodes, nodesOf, quotaVariable, subscriptionQuotas, syncIdQuota } from '#database';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';

/**
 * The configuration of the episode service. Unless `FEEDS` is `off`, `DATABASE_URL` must be one
 * node. On a Citus cluster it must be the coordinator, because no other node has the feeds.
 */
export const episodeConfig = z
  .object({
    ...serviceConfig.shape,
    DATABASE_URL: databaseNodes,
    ...syncIdQuota.shape,
    ...subscriptionQuotas.shape,
    FEEDS: feedsMode
      .default('off')
      .describe(
        'Unless `off`, episodes without a title get the title in their feed. On a Citus cluster, ' +
          '`DATABASE_URL` is then the coordinator, which has the feeds.',
      ),
    QUOTA_EPISODE_STATES: quotaVariable(1_000_000, 'Maximum number of episode states per user.'),
  })
  .refine(({ DATABASE_URL, FEEDS }) => FEEDS === 'off' || nodesOf(DATABASE_URL).length === 1, {
    path: ['DATABASE_URL'],
    error: 'only the coordinator has the feeds: give its URL alone, or set FEEDS=off',
  });
export type EpisodeConfig = z.output<typeof episodeConfig>;

/** The quotas of each user, and `FEEDS` (absent: `off`). */
export type EpisodeQuotas = Partial<Pick<EpisodeConfig, 'FEEDS'>> &
  Pick<
    EpisodeConfig,
    | 'QUOTA_EPISODE_STATES'
    | 'QUOTA_LIVE_SUBSCRIPTIONS'
    | 'QUOTA_SUBSCRIPTION_NAMES'
    | 'QUOTA_SYNC_ID_ALIASES'
  >;

/** Injection token of {@link EpisodeQuotas}. */
export const QUOTAS = Symbol('quotas');
