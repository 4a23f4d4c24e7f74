import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeletionStatus } from '#contracts';

/** That everything of a user is to be erased, or has been. The record owns the truth; the queue only delivers it. */
@Entity({ schema: 'deletion', name: 'erasures' })
@Index('erasures_due', { synchronize: false })
@Check('erasures_status', `status IN ('PENDING', 'SUCCESS', 'FAILURE')`)
@Check('erasures_finished_when_final', `(finished IS NULL) = (status = 'PENDING')`)
@Check('erasures_cause_of_failure', `(cause IS NULL) = (status <> 'FAILURE')`)
@Check('erasures_say_nothing', `status <> 'SUCCESS' OR (origin IS NULL AND removed = 0)`)
export class ErasureEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @Column({ type: 'text', default: 'PENDING' })
  status!: DeletionStatus;

  @Column({ type: 'timestamp with time zone', precision: 3 })
  requested!: Date;

  /** How many jobs were made for it; part of the id of each. */
  @Column({ type: 'integer', default: 0 })
  send!: number;

  /** When a relay last took it; null: its next job is due. */
  @Column({ name: 'sent_at', type: 'timestamp with time zone', nullable: true })
  sentAt!: Date | null;

  /** Rows that are gone so far; 0 again once it has ended in SUCCESS. */
  @Column({ type: 'bigint', default: 0 })
  removed!: number;

  @Column({ type: 'timestamp with time zone', precision: 3, nullable: true })
  finished!: Date | null;

  /** Why it failed, for operators. */
  @Column({ type: 'text', nullable: true })
  cause!: string | null;

  /** The request it was asked for in, until it has ended in SUCCESS. */
  @Column({ type: 'json', nullable: true })
  origin!: Record<string, string> | null;
}
