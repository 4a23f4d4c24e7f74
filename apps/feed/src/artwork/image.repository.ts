import { type Database, statement } from '#database';
import { nextChange } from '../feed.sql.js';

/** SQL that selects the pictures whose fetch is due. The caller adds ORDER BY and LIMIT. */
export const dueImages = 'SELECT d.url_sha256 FROM feed.images d WHERE d.next_at <= now()';

/**
 * Claims due pictures: returns them, and postpones their next fetch by 5 minutes. The delay
 * quadruples with each claim up to 30 days, until `storeThumbnail` resets it. Therefore a failed
 * fetch needs no write. $1 maximum number of rows.
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
 * Stores the thumbnail of a feed's picture, or nothing if the picture has another URL by now. Locks
 * the feed before its picture, as `saveResult` does, to avoid deadlocks. $1 key of the feed, $2 URL
 * of the picture, $3 the thumbnail.
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

/** A claimed picture. */
export interface DueImage {
  /** The key of the feed. */
  readonly key: Buffer;
  /** The URL of the picture. */
  readonly source: string;
}

/** The SQL of the pictures of feeds. `scheduledPictures` in feed.sql.ts makes pictures due. */
export class ImageRepository {
  constructor(private readonly database: Database) {}

  /** Claims and returns due pictures. @param limit maximum number of pictures. */
  claimPictures(limit: number): Promise<DueImage[]> {
    return this.database.change<DueImage>(claimImages, [limit]);
  }

  /**
   * Stores a thumbnail, or nothing if the feed has another picture by now.
   *
   * @param key key of the feed.
   * @param source URL of the fetched picture.
   */
  async storeThumbnail(key: Buffer, source: string, thumbnail: Uint8Array): Promise<void> {
    await this.database.change(storeThumbnail, [key, source, thumbnail]);
  }

  /** Returns the thumbnail with an id, or `undefined` if none is stored. */
  async readThumbnail(id: string): Promise<Buffer | undefined> {
    const [row] = await this.database.read<{ bytes: Buffer | null }>(selectThumbnail, [id]);
    return row?.bytes ?? undefined;
  }
}
