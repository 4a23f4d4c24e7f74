import { Column, Entity, Index, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { JoinOfUser } from './join.of.user.js';
import { SubscriptionEntity } from './subscription.entity.js';

/** A current or former feed URL by its lookup key: an index entry can't hold a long URL. */
@Entity({ schema: 'subscription', name: 'feed_urls' })
@Index('feed_urls_subscription', ['subscriptionId', 'userId'])
@Index('feed_urls_by_url', { synchronize: false })
export class FeedUrlEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  /** The SHA-256 of the form by which URLs are compared, so equal URLs are one row. */
  @PrimaryColumn({ name: 'url_sha256', type: 'bytea' })
  urlSha256!: Buffer;

  @Column({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  /** The URL, if available and at any time different from the subscription's `feedUrl`. */
  @Column({ type: 'text', nullable: true })
  url!: string | null;

  @ManyToOne(() => SubscriptionEntity)
  @JoinOfUser('feed_urls_subscription_id_fkey', 'subscription_id', 'id')
  subscription!: Relation<SubscriptionEntity>;
}
