import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { SubscriptionEntity } from './subscription.entity.js';

/** A former guid of a subscription, to identify older copies of clients. */
@Entity({ schema: 'subscription', name: 'former_guids' })
export class FormerGuidEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  @PrimaryColumn({ type: 'timestamp with time zone', precision: 3 })
  replaced!: Date;

  @Column({ type: 'uuid' })
  guid!: string;

  @ManyToOne(() => SubscriptionEntity)
  @JoinColumn([
    {
      name: 'user_id',
      referencedColumnName: 'userId',
      foreignKeyConstraintName: 'former_guids_subscription_id_fkey',
    },
    {
      name: 'subscription_id',
      referencedColumnName: 'id',
      foreignKeyConstraintName: 'former_guids_subscription_id_fkey',
    },
  ])
  subscription!: Relation<SubscriptionEntity>;
}
