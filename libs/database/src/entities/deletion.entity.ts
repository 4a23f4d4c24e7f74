import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeletionStatus } from '#contracts';

/** A deletion. The record is authoritative; a job of the queue only names it. */
@Entity({ schema: 'deletion', name: 'deletions' })
@Index('deletions_one_pending', ['userId', 'subscriptionId'], {
  unique: true,
  where: `status = 'PENDING'`,
})
@Index('deletions_due', { synchronize: false })
@Check('deletions_status', `status IN ('PENDING', 'SUCCESS', 'FAILURE')`)
@Check('deletions_finished_when_final', `(finished IS NULL) = (status = 'PENDING')`)
@Check('deletions_cause_of_failure', `(cause IS NULL) = (status <> 'FAILURE')`)
export class DeletionEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ type: 'bigint', default: () => 'deletion.new_id()' })
  id!: number;

  /** The row of the request; never resolved through an alias. */
  @Column({ name: 'subscription_id', type: 'bigint' })
  subscriptionId!: number;

  @Column({ type: 'text', default: 'PENDING' })
  status!: DeletionStatus;

  /** The user's clock at the request. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  requested!: Date;

  /** Number of its jobs; part of the id of each. */
  @Column({ type: 'integer', default: 0 })
  send!: number;

  /** Time of a relay's last claim, to send its job or to check it; null: the next job is due. */
  @Column({ name: 'sent_at', type: 'timestamp with time zone', nullable: true })
  sentAt!: Date | null;

  /** Number of failed attempts that count. */
  @Column({ type: 'integer', default: 0 })
  attempts!: number;

  @Column({ type: 'timestamp with time zone', precision: 3, nullable: true })
  finished!: Date | null;

  /** For operators. */
  @Column({ type: 'text', nullable: true })
  cause!: string | null;

  /** Request id and trace context of the request, to correlate them. */
  @Column({ type: 'json', nullable: true })
  origin!: Record<string, string> | null;
}
