import { Column, Entity, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { JoinOfUser } from './join.of.user.js';
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
  @JoinOfUser('former_guids_subscription_id_fkey', 'subscription_id', 'id')
  subscription!: Relation<SubscriptionEntity>;
}
