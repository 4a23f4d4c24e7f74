import type { FeedPreview } from '#contracts';
import { type Database, statement } from '#database';

/** Seconds until a request for a preview expires, and maximum number of requests in this time. */
const [previewSeconds, maxPreviews] = [20, 16];

/** Stores a request for a preview of URL $1. Returns its id; no row after too many requests. */
const insertRequest = statement(
  'feed.request_preview',
  `INSERT INTO feed.previews (id, url) SELECT gen_random_uuid(), $1
   WHERE ${maxPreviews} > (
     SELECT count(*) FROM feed.previews p
     WHERE p.created_at > now() - interval '${previewSeconds} s'
   ) RETURNING id`,
);

/** SQL of the unclaimed requests. */
export const duePreviews = `SELECT o.id FROM feed.previews o
     WHERE NOT o.is_claimed AND o.created_at > now() - interval '${previewSeconds} s'`;

const claimRequest = statement(
  'feed.claim_preview',
  `UPDATE feed.previews p SET is_claimed = true FROM (
     ${duePreviews}
     ORDER BY o.created_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
   ) next WHERE p.id = next.id RETURNING p.id, p.url`,
);

/** Stores the answer to a request. $1 id, $2 the answer. */
const storeAnswer = statement(
  'feed.store_preview',
  'UPDATE feed.previews SET result = $2 WHERE id = $1',
);

/** Deletes a request that has an answer, and returns the answer; else no row. $1 id. */
const deleteAnswer = statement(
  'feed.take_preview',
  'DELETE FROM feed.previews WHERE id = $1 AND result IS NOT NULL RETURNING result',
);

/** A claimed request for a preview. */
export interface PreviewRequest {
  readonly id: string;
  readonly url: string;
}

/**
 * The SQL of previews. Any replica stores a request. A replica with internet access claims it,
 * fetches the feed and stores the answer.
 */
export class PreviewRepository {
  constructor(private readonly database: Database) {}

  /** Returns the id of a new request, or `undefined` if 16 requests are younger than 20 s. */
  async requestPreview(url: string): Promise<string | undefined> {
    const [row] = await this.database.change<{ id: string }>(insertRequest, [url]);
    return row?.id;
  }

  /** Claims and returns the oldest unclaimed request, or `undefined` without one. */
  async claimRequest(): Promise<PreviewRequest | undefined> {
    return (await this.database.change<PreviewRequest>(claimRequest, []))[0];
  }

  async storeAnswer(id: string, preview: FeedPreview): Promise<void> {
    await this.database.change(storeAnswer, [id, JSON.stringify(preview)]);
  }

  /** Returns and removes the answer to a request, or `undefined` while it has no answer. */
  async takeAnswer(id: string): Promise<FeedPreview | undefined> {
    const [row] = await this.database.change<{ result: string }>(deleteAnswer, [id]);
    return row && (JSON.parse(row.result) as FeedPreview);
  }
}
