import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Counters for quotas, updated by the statements that add or remove rows. */
@Entity({ schema: 'subscription', name: 'totals' })
@Check('totals_are_no_debts', 'least(live, pointers, guid_changes, guids, urls) >= 0')
export class SubscriptionTotalEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  /** Subscriptions that are neither tombstones nor merged into others. */
  @Column({ type: 'bigint', default: 0 })
  live!: number;

  /** Subscriptions that are merged into others. */
  @Column({ type: 'bigint', default: 0 })
  pointers!: number;

  @Column({ name: 'guid_changes', type: 'bigint', default: 0 })
  guidChanges!: number;

  @Column({ type: 'bigint', default: 0 })
  guids!: number;

  @Column({ type: 'bigint', default: 0 })
  urls!: number;
}
