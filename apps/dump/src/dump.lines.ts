import { type DataSubscription, mostNames } from '#contracts';
import type { EpisodeRow, SubscriptionRow } from './dump.store.js';

/** Guids, hashes or sync_ids that one line has at most: with as many of each it is far shorter than a line may be. */
export const namesInLine = 2_000;
/** URLs that one line has at most; each may have 4,096 bytes. */
export const urlsInLine = 64;

/** The lines of a subscription, the first with all but names that there are too many of. Lines end with a line feed. */
export function subscriptionLines(row: SubscriptionRow, formerUrls: readonly string[]): string[] {
  const { feed_url, guid, former_guids } = row;
  const [guids, hashes] = [parts(row.guids ?? []), parts(row.feed_url_hashes ?? [])];
  const urls = parts(formerUrls, urlsInLine);
  return Array.from({ length: Math.max(1, guids.length, hashes.length, urls.length) }, (_, index) => {
    const first = index === 0;
    const subscription: DataSubscription = {
      feed_url,
      guid,
      ...standing(row),
      ...(row.guid_changed !== null && { guid_changed: row.guid_changed }),
      ...(first && former_guids && { former_guids: shownFirst(former_guids) }),
      ...((guids[index] || hashes[index] || urls[index]) && {
        named_by: { guids: guids[index]?.map(name), feed_urls: urls[index], feed_url_hashes: hashes[index] },
      }),
    };
    return `${JSON.stringify({ subscription })}\n`;
  });
}

/** Lines that add URLs alone, for those that the first ones of a subscription came without. */
export function urlLines(row: SubscriptionRow, formerUrls: readonly string[]): string[] {
  return subscriptionLines({ ...row, guids: null, feed_url_hashes: null, former_guids: null }, formerUrls);
}

/** What became of a subscription. Of a pointer nothing is shown but the survivor. */
function standing({ is_subscribed, timestamp, deleted, merged_into }: SubscriptionRow): Partial<DataSubscription> {
  if (merged_into !== null) return { merged_into };
  return { is_subscribed, ...(timestamp !== null && { timestamp }), ...(deleted && { deleted: true }) };
}

/** A guid with what differs from what the form takes for granted. */
function name({ guid, sent, derived }: { guid: string; sent: boolean; derived: boolean }) {
  return { guid, ...(!sent && { sent }), ...(derived && { derived }) };
}

/** Of too many former guids the oldest, which lists without `since` show, and the latest, which polls do. */
function shownFirst<Item>(items: readonly Item[]): Item[] {
  return items.length <= mostNames ? [...items] : [items[0] as Item, ...items.slice(1 - mostNames)];
}

/** The line of an episode, with those of its further sync_ids that were read with it. */
export function episodeLine({ fields, further }: EpisodeRow): string {
  if (!further) return `${fields}}}\n`;
  return `${fields},"further_sync_ids":${JSON.stringify(further)}}}\n`;
}

/** A line of an episode that says no more than its names, for the further sync_ids that its first one has no room for. */
export function furtherLine({ fields }: EpisodeRow, further: readonly string[]): string {
  const { podcast_guid, sync_id } = (JSON.parse(`${fields}}}`) as { episode: Record<string, unknown> }).episode;
  return `${JSON.stringify({ episode: { podcast_guid, sync_id, further_sync_ids: further } })}\n`;
}

function parts<Item>(items: readonly Item[], most = namesInLine): Item[][] {
  const count = Math.ceil(items.length / most);
  return Array.from({ length: count }, (_, index) => items.slice(index * most, (index + 1) * most));
}
