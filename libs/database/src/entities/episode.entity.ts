import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * The state of one episode for one user. A status is a value and the client's time of it (`…_at`), both or neither;
 * `minute_forms` has a bit for each status whose time was given to the minute only.
 */
@Entity({ schema: 'episode', name: 'episodes' })
@Index('episodes_sync_id', ['userId', 'syncId'], { unique: true })
@Index('episodes_changed', ['userId', 'changed', 'id'])
@Index('episodes_guid', { synchronize: false })
@Index('episodes_enclosure', { synchronize: false })
@Index('episodes_date_and_url', { synchronize: false })
@Index('episodes_date_and_title', { synchronize: false })
@Index('episodes_url_and_title', { synchronize: false })
@Check(
  'episodes_status_is_whole',
  `(playback_position IS NULL) = (playback_position_at IS NULL) AND (played_status IS NULL) = (played_status_at IS NULL)
   AND (new_status IS NULL) = (new_status_at IS NULL) AND (download_status IS NULL) = (download_status_at IS NULL)
   AND (favorite_status IS NULL) = (favorite_status_at IS NULL)`,
)
export class EpisodeEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  /** The place in every list; never changes. */
  @PrimaryColumn({ type: 'bigint', default: () => `nextval('episode.episode_id')` })
  id!: number;

  @Column({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  /** The stamp of the last accepted change, never a client's time: what `since` is compared with. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  changed!: Date;

  @Column({ name: 'publish_date', type: 'timestamp with time zone', precision: 3 })
  publishDate!: Date;

  @Column({ name: 'playback_position', type: 'double precision', nullable: true })
  playbackPosition!: number | null;

  @Column({ name: 'playback_position_at', type: 'timestamp with time zone', nullable: true })
  playbackPositionAt!: Date | null;

  @Column({ name: 'played_status_at', type: 'timestamp with time zone', nullable: true })
  playedStatusAt!: Date | null;

  @Column({ name: 'new_status_at', type: 'timestamp with time zone', nullable: true })
  newStatusAt!: Date | null;

  @Column({ name: 'download_status_at', type: 'timestamp with time zone', nullable: true })
  downloadStatusAt!: Date | null;

  @Column({ name: 'favorite_status_at', type: 'timestamp with time zone', nullable: true })
  favoriteStatusAt!: Date | null;

  @Column({ name: 'minute_forms', type: 'smallint', default: 0 })
  minuteForms!: number;

  @Column({ name: 'played_status', type: 'boolean', nullable: true })
  playedStatus!: boolean | null;

  @Column({ name: 'new_status', type: 'boolean', nullable: true })
  newStatus!: boolean | null;

  @Column({ name: 'download_status', type: 'boolean', nullable: true })
  downloadStatus!: boolean | null;

  @Column({ name: 'favorite_status', type: 'boolean', nullable: true })
  favoriteStatus!: boolean | null;

  @Column({ name: 'sync_id', type: 'uuid' })
  syncId!: string;

  @Column({ name: 'episode_guid', type: 'text' })
  episodeGuid!: string;

  @Column({ type: 'text' })
  title!: string;

  @Column({ name: 'enclosure_url', type: 'text' })
  enclosureUrl!: string;

  @Column({ name: 'episode_url', type: 'text' })
  episodeUrl!: string;
}
