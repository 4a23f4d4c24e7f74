import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeletionStatus } from '#contracts';

/** A request to delete a subscription. The record owns the truth; the queue only delivers it to a worker. */
@Entity({ schema: 'deletion', name: 'deletions' })
@Index('deletions_one_pending', ['userId', 'subscriptionId'], { unique: true, where: `status = 'PENDING'` })
@Index('deletions_due', { synchronize: false })
@Check('deletions_status', `status IN ('PENDING', 'SUCCESS', 'FAILURE')`)
@Check('deletions_finished_when_final', `(finished IS NULL) = (status = 'PENDING')`)
@Check('deletions_cause_of_failure', `(cause IS NULL) = (status <> 'FAILURE')`)
export class DeletionEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ type: 'bigint', default: () => `nextval('deletion.deletion_id')` })
  id!: number;

  /** The row it was made for; never followed through an alias. */
  @Column({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  @Column({ type: 'text', default: 'PENDING' })
  status!: DeletionStatus;

  /** The user's clock when it was asked for. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  requested!: Date;

  /** How many jobs were made for it; part of the id of each. */
  @Column({ type: 'integer', default: 0 })
  send!: number;

  /** When a relay last took it, to send its job or to check on it; null: its next job is due. */
  @Column({ name: 'sent_at', type: 'timestamp with time zone', nullable: true })
  sentAt!: Date | null;

  /** How often it was tried and failed for a reason that counts. */
  @Column({ type: 'integer', default: 0 })
  attempts!: number;

  @Column({ type: 'timestamp with time zone', precision: 3, nullable: true })
  finished!: Date | null;

  /** Why it failed, for operators. */
  @Column({ type: 'text', nullable: true })
  cause!: string | null;

  /** The request it was asked for in: its id and trace context, to find the one from the other. */
  @Column({ type: 'json', nullable: true })
  origin!: Record<string, string> | null;
}
