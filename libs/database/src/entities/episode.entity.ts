import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * An episode as one user's clients describe it, and what identifies it; what a listener did with it is in
 * {@link StateEntity}, a row of the same id and sync_id. What is not known is as in `unknownMetadata` of the contracts.
 */
@Entity({ schema: 'episode', name: 'episodes' })
@Index('episodes_guid', { synchronize: false })
@Index('episodes_enclosure', { synchronize: false })
@Index('episodes_date_and_url', { synchronize: false })
@Index('episodes_date_and_title', { synchronize: false })
@Index('episodes_url_and_title', { synchronize: false })
@Check('episodes_duration_is_positive', 'duration > 0')
export class EpisodeEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  /** The place in every list; never changes. It finds the state, and no row here. */
  @Column({ type: 'bigint', default: () => `nextval('episode.episode_id')` })
  id!: number;

  @Column({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  @Column({ name: 'publish_date', type: 'timestamp with time zone', precision: 3 })
  publishDate!: Date;

  /** Seconds. */
  @Column({ type: 'double precision', nullable: true })
  duration!: number | null;

  /** Never changes: further ones are in {@link SyncIdEntity}. */
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
}
