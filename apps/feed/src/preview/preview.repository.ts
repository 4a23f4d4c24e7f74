import type { FeedPreview } from '#contracts';
import { type Database, statement } from '#database';

/** Seconds after which a preview is outdated, and maximum number of previews within them. */
const [previewSeconds, mostPreviews] = [20, 16];

/** $1 URL. Returns the id of a request, or no row if the maximum number of previews is reached. */
const request = statement(
  'feed.request_preview',
  `INSERT INTO feed.previews (id, url) SELECT gen_random_uuid(), $1
   WHERE ${mostPreviews} > (
     SELECT count(*) FROM feed.previews p
     WHERE p.created_at > now() - interval '${previewSeconds} s'
   ) RETURNING id`,
);

/** SQL of the unclaimed requests. */
export const duePreviews = `SELECT o.id FROM feed.previews o
     WHERE NOT o.is_claimed AND o.created_at > now() - interval '${previewSeconds} s'`;

const claim = statement(
  'feed.claim_preview',
  `UPDATE feed.previews p SET is_claimed = true FROM (
     ${duePreviews}
     ORDER BY o.created_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
   ) next WHERE p.id = next.id RETURNING p.id, p.url`,
);

/** $1 id, $2 the answer. */
const store = statement('feed.store_preview', 'UPDATE feed.previews SET result = $2 WHERE id = $1');

/** $1 id. Returns and removes an answer. */
const take = statement(
  'feed.take_preview',
  'DELETE FROM feed.previews WHERE id = $1 AND result IS NOT NULL RETURNING result',
);

/** A claimed request for a preview. */
export interface PreviewRequest {
  readonly id: string;
  readonly url: string;
}

/** The SQL of previews. Replicas request them; one with internet access fetches the feed. */
export class PreviewRepository {
  constructor(private readonly database: Database) {}

  /** Returns the id of a new request, or `undefined` if 16 requests are younger than 20 s. */
  async request(url: string): Promise<string | undefined> {
    const [row] = await this.database.change<{ id: string }>(request, [url]);
    return row?.id;
  }

  /** Claims and returns the oldest unclaimed request, or `undefined` without one. */
  async claim(): Promise<PreviewRequest | undefined> {
    return (await this.database.change<PreviewRequest>(claim, []))[0];
  }

  async store(id: string, preview: FeedPreview): Promise<void> {
    await this.database.change(store, [id, JSON.stringify(preview)]);
  }

  /** Returns and removes the answer to a request, or `undefined` while it has no answer. */
  async take(id: string): Promise<FeedPreview | undefined> {
    const [row] = await this.database.change<{ result: string }>(take, [id]);
    return row && (JSON.parse(row.result) as FeedPreview);
  }
}
