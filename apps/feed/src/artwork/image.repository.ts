import { type Database, statement } from '#database';
import { nextChange } from '../feed.sql.js';

/** SQL of the pictures that are due. */
export const dueImages = 'SELECT d.url_sha256 FROM feed.images d WHERE d.next_at <= now()';

/**
 * Returns the pictures that are due, and postpones their next fetch, longer after each failure.
 * Therefore a fetch that fails, or whose process dies, needs no further write. $1 maximum number of
 * rows.
 */
export const claimImages = statement(
  'feed.claim_images',
  `UPDATE feed.images i SET failures = i.failures + 1,
     next_at = now() + least(4 ^ least(i.failures, 7) * interval '5 min', interval '30 days')
   WHERE i.url_sha256 = ANY (ARRAY(
     -- The planner expects a short array, and looks up each picture by its key.
     ${dueImages}
     ORDER BY d.next_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
   ))
   RETURNING i.url_sha256 AS key, i.source`,
);

/**
 * Stores the thumbnail of a feed's picture, unless the picture has another URL by now. Locks the
 * feed before its picture, as `saveResult` does, to avoid deadlocks. $1 key of the feed, $2 URL of
 * the picture, $3 the thumbnail.
 */
const storeThumbnail = statement(
  'feed.store_image',
  `WITH locked AS MATERIALIZED (
     SELECT f.url_sha256 FROM feed.feeds f WHERE f.url_sha256 = $1 FOR NO KEY UPDATE
   ), old AS MATERIALIZED (
     SELECT i.url_sha256, i.bytes IS DISTINCT FROM $3::bytea AS is_new
     FROM locked l JOIN feed.images i ON i.url_sha256 = l.url_sha256
     WHERE i.source = $2 FOR NO KEY UPDATE OF i
   ), stored AS (
     UPDATE feed.images i SET bytes = $3, failures = 0,
       id = CASE WHEN o.is_new THEN gen_random_uuid() ELSE i.id END,
       next_at = now() + (0.9 + random() / 5) * interval '30 days'
     FROM old o WHERE i.url_sha256 = o.url_sha256
   )
   UPDATE feed.feeds f SET changed = ${nextChange} FROM old o
   WHERE f.url_sha256 = o.url_sha256 AND o.is_new`,
);

/** Reads the thumbnail with id $1. */
const selectThumbnail = statement(
  'feed.image',
  'SELECT i.bytes FROM feed.images i WHERE i.id = $1',
);

/** A picture to fetch: the key of its feed, and its URL. */
export interface DueImage {
  readonly key: Buffer;
  readonly source: string;
}

/** The SQL of the pictures of feeds. `saveResult` in lane.sql.ts makes pictures due. */
export class ImageRepository {
  constructor(private readonly database: Database) {}

  /** Claims and returns pictures to fetch. */
  claimPictures(limit: number): Promise<DueImage[]> {
    return this.database.change<DueImage>(claimImages, [limit]);
  }

  /** Stores a thumbnail. @param key key of the feed. @param source URL of the fetched picture. */
  async storeThumbnail(key: Buffer, source: string, bytes: Uint8Array): Promise<void> {
    await this.database.change(storeThumbnail, [key, source, bytes]);
  }

  /** Returns the thumbnail with an id, or `undefined` if it does not exist. */
  async readThumbnail(id: string): Promise<Buffer | undefined> {
    const [row] = await this.database.read<{ bytes: Buffer | null }>(selectThumbnail, [id]);
    return row?.bytes ?? undefined;
  }
}
