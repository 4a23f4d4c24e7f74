import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** A user's clock (docs/design/adr/0005), which every write locks first. */
@Entity({ schema: 'sync', name: 'user_clock' })
@Check('user_clock_refused', 'refused IN (1, 2, 3)')
@Check('user_clock_told', 'told = 0 OR stamp >= to_timestamp((told + 1)::double precision)')
export class UserClockEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @Column({ type: 'timestamp with time zone', precision: 3 })
  stamp!: Date;

  /** Upper bound of the bytes of the user's stored answers; exact after each recount. */
  @Column({ name: 'answer_bytes', type: 'bigint', default: 0 })
  answerBytes!: number;

  /** Reason to refuse the user: 1 disabled, 2 erasure pending, 3 erased; null for all others. */
  @Column({ type: 'smallint', nullable: true })
  refused!: 1 | 2 | 3 | null;

  /** The last second that a gpodder client received, 0 for none (docs/design/adr/0024). */
  @Column({ name: 'told', type: 'bigint', default: 0 })
  answered!: number;
}
