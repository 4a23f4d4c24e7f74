import { randomUUID } from 'node:crypto';
import type { EpisodeEntry } from './interface.js';

/** Returns a random guid. */
export function newGuid(): string {
  return randomUUID();
}

/** Returns the numbers from 1 to a count. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Returns the address of a feed. */
export function feed(name: string | number): string {
  return `https://feeds.example/${name}.xml`;
}

/** Returns an episode with all fields, which differ from those of other episodes. */
export function episode(
  podcastGuid: string,
  name: string | number,
  more: Partial<EpisodeEntry> = {},
): EpisodeEntry {
  const day = String((Number(name) % 28) + 1 || 1).padStart(2, '0');
  return {
    podcast_guid: podcastGuid,
    episode_guid: `episode ${name}`,
    title: `Title of ${name}`,
    publish_date: `2023-02-${day}T14:00:00.000Z`,
    enclosure_url: `https://media.example/${name}.mp3`,
    episode_url: `https://show.example/${name}`,
    ...more,
  };
}
