import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeletionStatus } from '#contracts';

/** An erasure of a user. The record is authoritative; a job of the queue only names it. */
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

  /** Number of its jobs; part of the id of each. */
  @Column({ type: 'integer', default: 0 })
  send!: number;

  /** Time of a relay's last claim; null: the next job is due. */
  @Column({ name: 'sent_at', type: 'timestamp with time zone', nullable: true })
  sentAt!: Date | null;

  /** Number of deleted rows; 0 again after SUCCESS. */
  @Column({ type: 'bigint', default: 0 })
  removed!: number;

  @Column({ type: 'timestamp with time zone', precision: 3, nullable: true })
  finished!: Date | null;

  /** For operators. */
  @Column({ type: 'text', nullable: true })
  cause!: string | null;

  /** Request id and trace context of the request, until SUCCESS. */
  @Column({ type: 'json', nullable: true })
  origin!: Record<string, string> | null;
}
