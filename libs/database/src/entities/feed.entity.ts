import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  OneToOne,
  PrimaryColumn,
  type Relation,
  Unique,
} from 'typeorm';

/** A feed that a user follows. */
@Entity({ schema: 'feed', name: 'feeds' })
@Index('feeds_wanted', ['wanted'])
@Index('feeds_declared_guid', ['declaredGuid'], { where: 'declared_guid IS NOT NULL' })
@Check('feeds_status', `status IN ('pending', 'ok', 'failing', 'gone', 'refused')`)
export class FeedEntity {
  @PrimaryColumn({ name: 'url_sha256', type: 'bytea' })
  urlSha256!: Buffer;

  @Column({ type: 'text' })
  url!: string;

  /** Time of a follower's last read, to the day. */
  @Column({ type: 'timestamp with time zone' })
  wanted!: Date;

  @Column({ type: 'text', default: 'pending' })
  status!: string;

  @Column({ type: 'text', nullable: true })
  title!: string | null;

  @Column({ type: 'text', nullable: true })
  author!: string | null;

  @Column({ type: 'text', nullable: true })
  description!: string | null;

  @Column({ type: 'text', nullable: true })
  link!: string | null;

  @Column({ type: 'text', nullable: true })
  language!: string | null;

  @Column({ name: 'image_url', type: 'text', nullable: true })
  imageUrl!: string | null;

  @Column({ name: 'declared_guid', type: 'uuid', nullable: true })
  declaredGuid!: string | null;

  @Column({
    name: 'latest_publish_date',
    type: 'timestamp with time zone',
    precision: 3,
    nullable: true,
  })
  latestPublishDate!: Date | null;

  /** Time of the last change of status or content. */
  @Column({ type: 'timestamp with time zone', precision: 3, default: () => 'now()' })
  changed!: Date;

  /** A JSON array in the form of an answer, with the time at which each episode was first seen. */
  @Column({ type: 'text', default: '[]' })
  episodes!: string;
}

/** The state of fetching a feed. */
@Entity({ schema: 'feed', name: 'fetches' })
@Index('fetches_due', ['lane', 'nextAt'])
export class FetchEntity {
  @PrimaryColumn({ name: 'url_sha256', type: 'bytea' })
  urlSha256!: Buffer;

  @Column({ type: 'text' })
  lane!: string;

  @Column({ name: 'next_at', type: 'timestamp with time zone' })
  nextAt!: Date;

  @Column({ name: 'fetched_at', type: 'timestamp with time zone', nullable: true })
  fetchedAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  etag!: string | null;

  @Column({ name: 'last_modified', type: 'text', nullable: true })
  lastModified!: string | null;

  @Column({ name: 'content_sha256', type: 'bytea', nullable: true })
  contentSha256!: Buffer | null;

  /** Median pause between episodes. */
  @Column({ name: 'gap_seconds', type: 'integer', nullable: true })
  gapSeconds!: number | null;

  @Column({ name: 'is_complete', type: 'boolean', default: false })
  isComplete!: boolean;

  @Column({ type: 'integer', default: 0 })
  failures!: number;

  /** Consecutive answers with 410. */
  @Column({ type: 'integer', default: 0 })
  gones!: number;

  @Column({ name: 'failing_since', type: 'timestamp with time zone', nullable: true })
  failingSince!: Date | null;

  @Column({ type: 'text', nullable: true })
  fault!: string | null;

  /** Until when a pushed feed is not fetched. */
  @Column({ name: 'pushed_until', type: 'timestamp with time zone', default: '-infinity' })
  pushedUntil!: Date;

  /** The URL that the server of the feed names, and since when and how often it did. */
  @Column({ name: 'move_to', type: 'text', nullable: true })
  moveTo!: string | null;

  @Column({ name: 'move_seen', type: 'integer', default: 0 })
  moveSeen!: number;

  @Column({ name: 'move_since', type: 'timestamp with time zone', nullable: true })
  moveSince!: Date | null;

  @Column({ name: 'move_proven', type: 'boolean', default: false })
  moveProven!: boolean;

  /** The new URL that was applied to the followers, and the time of the feed's last move. */
  @Column({ name: 'moved_to', type: 'text', nullable: true })
  movedTo!: string | null;

  @Column({ name: 'moved_at', type: 'timestamp with time zone', nullable: true })
  movedAt!: Date | null;

  @Column({ name: 'named_guid', type: 'uuid', nullable: true })
  namedGuid!: string | null;

  @Column({ name: 'named_at', type: 'timestamp with time zone', nullable: true })
  namedAt!: Date | null;

  /** Time of the last visit to its followers. */
  @Column({ name: 'visited_at', type: 'timestamp with time zone', default: '-infinity' })
  visitedAt!: Date;

  @OneToOne(() => FeedEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'url_sha256', foreignKeyConstraintName: 'fetches_feed_fkey' })
  feed?: Relation<FeedEntity>;
}

/** The picture of a feed. */
@Entity({ schema: 'feed', name: 'images' })
@Unique('images_id', ['id'])
@Index('images_due', ['nextAt'])
@Check('images_size', 'octet_length(bytes) <= 65536')
export class ImageEntity {
  @PrimaryColumn({ name: 'url_sha256', type: 'bytea' })
  urlSha256!: Buffer;

  /** Name in answers. A new picture has a new one. */
  @Column({ type: 'uuid' })
  id!: string;

  /** URL at the publisher. */
  @Column({ type: 'text' })
  source!: string;

  /** A WebP image, or null until the source was read. */
  @Column({ type: 'bytea', nullable: true })
  bytes!: Buffer | null;

  @Column({ name: 'next_at', type: 'timestamp with time zone' })
  nextAt!: Date;

  /** Fetches since the last success. */
  @Column({ type: 'integer', default: 0 })
  failures!: number;

  @OneToOne(() => FeedEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'url_sha256', foreignKeyConstraintName: 'images_feed_fkey' })
  feed?: Relation<FeedEntity>;
}

/** A request of a user who looks at a feed. */
@Entity({ schema: 'feed', name: 'previews' })
export class PreviewEntity {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text' })
  url!: string;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  @Column({ name: 'is_claimed', type: 'boolean', default: false })
  isClaimed!: boolean;

  /** The answer as JSON, or null until there is one. */
  @Column({ type: 'text', nullable: true })
  result!: string | null;
}

/** A host, or a family of hosts, that gets one request at a time. */
@Entity({ schema: 'feed', name: 'lanes' })
@Index('lanes_due', ['nextAt'])
export class LaneEntity {
  @PrimaryColumn({ type: 'text' })
  lane!: string;

  @Column({ name: 'next_at', type: 'timestamp with time zone' })
  nextAt!: Date;

  /** End of a lease, a pause or a block. */
  @Column({ name: 'busy_until', type: 'timestamp with time zone', default: '-infinity' })
  busyUntil!: Date;

  /** Consecutive answers with 429. */
  @Column({ type: 'integer', default: 0 })
  blocks!: number;
}
