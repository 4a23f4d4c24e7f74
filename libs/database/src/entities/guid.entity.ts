import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { SubscriptionEntity } from './subscription.entity.js';

/** A guid that names a subscription: its current one or one it ever had. */
@Entity({ schema: 'subscription', name: 'guids' })
@Index('guids_subscription', ['subscriptionId', 'userId'])
export class GuidEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ type: 'uuid' })
  guid!: string;

  @Column({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  /** When this guid came to name this subscription. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  attached!: Date;

  /** Whether a client ever sent it. */
  @Column({ type: 'boolean', default: false })
  sent!: boolean;

  /** Whether it is derived from a URL of the subscription. */
  @Column({ type: 'boolean', default: false })
  derived!: boolean;

  @ManyToOne(() => SubscriptionEntity)
  @JoinColumn([
    { name: 'user_id', referencedColumnName: 'userId', foreignKeyConstraintName: 'guids_subscription_id_fkey' },
    { name: 'subscription_id', referencedColumnName: 'id', foreignKeyConstraintName: 'guids_subscription_id_fkey' },
  ])
  subscription!: Relation<SubscriptionEntity>;
}
