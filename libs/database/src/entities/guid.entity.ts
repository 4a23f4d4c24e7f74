import { Column, Entity, Index, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { JoinOfUser } from './join.of.user.js';
import { SubscriptionEntity } from './subscription.entity.js';

/** A current or former guid of a subscription. */
@Entity({ schema: 'subscription', name: 'guids' })
@Index('guids_subscription', ['subscriptionId', 'userId'])
export class GuidEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ type: 'uuid' })
  guid!: string;

  @Column({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  /** Time at which the guid was assigned to the subscription. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  attached!: Date;

  /** True if a client ever sent it. */
  @Column({ type: 'boolean', default: false })
  sent!: boolean;

  /** True if it is derived from a URL of the subscription. */
  @Column({ type: 'boolean', default: false })
  derived!: boolean;

  @ManyToOne(() => SubscriptionEntity)
  @JoinOfUser('guids_subscription_id_fkey', 'subscription_id', 'id')
  subscription!: Relation<SubscriptionEntity>;
}
