import { feedEpisodeSchema, guidSchema, mostRefreshed, podcastSchema } from '#contracts';
import { z } from 'zod';

export const podcastPageSchema = z
  .object({
    per_page: z.int().min(1),
    next: z.string().meta({ format: 'uri' }).optional(),
    feeds: z.array(podcastSchema),
  })
  .meta({ id: 'PodcastPage' });

export const feedEpisodesSchema = z
  .object({ episodes: z.array(feedEpisodeSchema) })
  .meta({ id: 'FeedEpisodes' });

export const refreshSchema = z
  .object({ guids: z.array(guidSchema).max(mostRefreshed) })
  .meta({ id: 'RefreshRequest' });
