import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Counters for quotas, updated by the statements that add or remove rows. */
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
