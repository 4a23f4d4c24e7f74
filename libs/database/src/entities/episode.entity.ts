import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { episodeStatuses, statusNames, wireNames } from '#contracts';

const isWhole = statusNames.map((name) => `(${wireNames[name]} IS NULL) = (${wireNames[name]}_at IS NULL)`);

/**
 * The state of one episode for one user. A status is a value and the client's time of it (`…_at`), both or neither;
 * `minute_forms` has a bit for each status whose time was given to the minute only. The columns of the statuses are
 * those of {@link episodeStatuses}. What is not known of its metadata is as in `unknownMetadata` of the contracts.
 */
@Entity({ schema: 'episode', name: 'episodes' })
@Index('episodes_sync_id', ['userId', 'syncId'], { unique: true })
@Index('episodes_changed', ['userId', 'changed', 'id'])
@Index('episodes_guid', { synchronize: false })
@Index('episodes_enclosure', { synchronize: false })
@Index('episodes_date_and_url', { synchronize: false })
@Index('episodes_date_and_title', { synchronize: false })
@Index('episodes_url_and_title', { synchronize: false })
@Check('episodes_status_is_whole', isWhole.join(' AND '))
@Check('episodes_duration_is_positive', 'duration > 0')
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

  /** Seconds. */
  @Column({ type: 'double precision', nullable: true })
  duration!: number | null;

  @Column({ name: 'minute_forms', type: 'smallint', default: 0 })
  minuteForms!: number;

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

for (const name of statusNames) {
  const column = wireNames[name];
  Column({ name: column, type: episodeStatuses[name].columnType, nullable: true })(EpisodeEntity.prototype, name);
  Column({ name: `${column}_at`, type: 'timestamp with time zone', nullable: true })(
    EpisodeEntity.prototype,
    `${name}At`,
  );
}
