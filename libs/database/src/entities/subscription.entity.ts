import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { JoinOfUser } from './join.of.user.js';

/** The current state of a subscription; a tombstone has `deleted`, a pointer `mergedInto`. */
@Entity({ schema: 'subscription', name: 'subscriptions' })
@Index('subscriptions_changed', ['userId', 'changed', 'id'])
@Index('subscriptions_tombstones', ['userId', 'deleted', 'id'], {
  where: 'merged_into IS NULL AND deleted IS NOT NULL',
})
@Index('subscriptions_pointers', ['userId', 'mergedInto'], { where: 'merged_into IS NOT NULL' })
@Check(
  'subscriptions_changed_is_the_latest',
  'changed = CASE WHEN merged_into IS NULL ' +
    'THEN greatest(subscription_changed, guid_changed, deleted, flipped) ELSE merged_at END',
)
@Check('subscriptions_declared_guids_are_no_debts', 'declared_guids >= 0')
@Check('subscriptions_id_is_exact', 'id <= 9007199254740991')
@Check('subscriptions_merged_together', '(merged_into IS NULL) = (merged_at IS NULL)')
@Check('subscriptions_tombstone_is_unsubscribed', 'deleted IS NULL OR NOT is_subscribed')
export class SubscriptionEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  /** Sort key of every list; never changes. */
  @PrimaryColumn({ type: 'bigint', default: () => `nextval('subscription.subscription_id')` })
  id!: number;

  @Column({ name: 'feed_url', type: 'text' })
  feedUrl!: string;

  @Column({ type: 'uuid' })
  guid!: string;

  @Column({ name: 'is_subscribed', type: 'boolean' })
  isSubscribed!: boolean;

  @Column({ name: 'subscription_changed', type: 'timestamp with time zone', precision: 3 })
  subscriptionChanged!: Date;

  /** Time of the last subscribing, unsubscribing or DELETE; the epoch without one. */
  @Column({ name: 'is_subscribed_at', type: 'timestamp with time zone' })
  isSubscribedAt!: Date;

  /** Stamp of the last change of `isSubscribed`; null if it was never true (gpodder API). */
  @Column({ type: 'timestamp with time zone', precision: 3, nullable: true })
  flipped!: Date | null;

  /** Number of its guids that a client sent and that are not derived from one of its URLs. */
  @Column({ name: 'declared_guids', type: 'integer', default: 0 })
  declaredGuids!: number;

  /** Its PENDING deletion; null once a later write won against it. */
  @Column({ name: 'deletion_id', type: 'bigint', nullable: true })
  deletionId!: number | null;

  @Column({ name: 'guid_changed', type: 'timestamp with time zone', precision: 3, nullable: true })
  guidChanged!: Date | null;

  @Column({ type: 'timestamp with time zone', precision: 3, nullable: true })
  deleted!: Date | null;

  @Column({ name: 'merged_into', type: 'bigint', nullable: true })
  mergedInto!: number | null;

  @Column({ name: 'merged_at', type: 'timestamp with time zone', precision: 3, nullable: true })
  mergedAt!: Date | null;

  /** The stamp with which `since` is compared. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  changed!: Date;

  /** The listener's own title; null without one, and in tombstones and pointers. */
  @Column({ type: 'text', nullable: true })
  title!: string | null;

  /** Time of the last change of `title` by the client's clock; null if it never changed. */
  @Column({ name: 'title_at', type: 'timestamp with time zone', nullable: true })
  titleAt!: Date | null;

  /** True for a tombstone whose `feedUrl` belongs to another subscription. */
  @Column({ name: 'has_lost_url', type: 'boolean', default: false })
  hasLostUrl!: boolean;

  @ManyToOne(() => SubscriptionEntity)
  @JoinOfUser('subscriptions_merged_into_fkey', 'merged_into', 'id')
  survivor!: Relation<SubscriptionEntity> | null;
}
