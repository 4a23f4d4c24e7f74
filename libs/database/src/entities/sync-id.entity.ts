import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An alias of an episode's sync_id, from a client or a merge. */
@Entity({ schema: 'episode', name: 'sync_ids' })
@Index('sync_ids_episode_id', ['userId', 'episodeId'])
export class SyncIdEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'sync_id', type: 'uuid' })
  syncId!: string;

  @Column({ name: 'episode_id', type: 'bigint' })
  episodeId!: number;
}
