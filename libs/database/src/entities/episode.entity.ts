import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * Metadata and identifiers of an episode, for one user. {@link StateEntity} has its statuses, with
 * the same id and sync_id. Missing values are those of `unknownMetadata` in the contracts.
 */
@Entity({ schema: 'episode', name: 'episodes' })
@Index('episodes_untitled', { synchronize: false })
@Index('episodes_guid', { synchronize: false })
@Index('episodes_enclosure', { synchronize: false })
@Index('episodes_date_and_url', { synchronize: false })
@Index('episodes_date_and_title', { synchronize: false })
@Index('episodes_url_and_title', { synchronize: false })
@Check('episodes_duration_is_positive', 'duration > 0')
@Check('episodes_id_is_exact', 'id <= 9007199254740991')
export class EpisodeEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  /** Sort key of every list; never changes. Queries find only the state by it. */
  @Column({ type: 'bigint', default: () => `nextval('episode.episode_id')` })
  id!: number;

  @Column({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  @Column({ name: 'publish_date', type: 'timestamp with time zone', precision: 3 })
  publishDate!: Date;

  /** In seconds. */
  @Column({ type: 'double precision', nullable: true })
  duration!: number | null;

  /** Never changes. Aliases are in {@link SyncIdEntity}. */
  @PrimaryColumn({ name: 'sync_id', type: 'uuid' })
  syncId!: string;

  @Column({ name: 'episode_guid', type: 'text' })
  episodeGuid!: string;

  @Column({ type: 'text' })
  title!: string;

  @Column({ name: 'enclosure_url', type: 'text' })
  enclosureUrl!: string;

  @Column({ name: 'episode_url', type: 'text' })
  episodeUrl!: string;

  /** The form by which `enclosureUrl` is compared, if it differs from it. */
  @Column({ name: 'comparable_enclosure_url', type: 'text', nullable: true })
  comparableEnclosureUrl!: string | null;
}
