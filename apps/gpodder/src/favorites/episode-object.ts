import type { GpodderEpisode } from '#contracts';
import type { PodcastsByUrl } from '../subscriptions/formats.js';

/** Returns an episode in the JSON format of gpodder.net. Clients require all fields. */
export function toEpisodeObject(
  { title, enclosureUrl, feedUrl, episodeUrl, publishDate }: GpodderEpisode,
  podcastsByUrl: PodcastsByUrl,
) {
  const isDated = !publishDate.startsWith('1970-01-01T00:00:00');
  return {
    title: title || enclosureUrl,
    url: enclosureUrl,
    podcast_title: podcastsByUrl.get(feedUrl)?.title ?? '',
    podcast_url: feedUrl,
    description: '',
    website: episodeUrl,
    released: isDated ? publishDate.slice(0, 19) : '',
    mygpo_link: '',
  };
}
