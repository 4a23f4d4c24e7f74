import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * Numbers of a user's episodes and aliases of sync_ids. The statements that add or remove rows
 * update them.
 */
@Entity({ schema: 'episode', name: 'totals' })
@Check('totals_are_no_debts', 'episodes >= 0 AND sync_ids >= 0')
export class TotalEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @Column({ type: 'bigint', default: 0 })
  episodes!: number;

  @Column({ name: 'sync_ids', type: 'bigint', default: 0 })
  syncIds!: number;
}
