import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A sync_id that names an episode beside its own: sent by a client for the same episode, or absorbed in a merge. */
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
