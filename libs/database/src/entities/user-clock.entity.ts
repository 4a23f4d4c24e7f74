import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The user's clock (docs/design/adr/0005): the stamp of the user's latest write. Every writer locks and advances it first. */
@Entity({ schema: 'sync', name: 'user_clock' })
@Check('user_clock_refused', 'refused IN (1, 2, 3)')
@Check('user_clock_told', 'told = 0 OR stamp >= to_timestamp((told + 1)::double precision)')
export class UserClockEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @Column({ type: 'timestamp with time zone', precision: 3 })
  stamp!: Date;

  /** At least what the user's stored answers have; exact after each time that they had to be counted. */
  @Column({ name: 'answer_bytes', type: 'bigint', default: 0 })
  answerBytes!: number;

  /** Why nothing is done for the user any more: 1 disabled, 2 being erased, 3 erased; null for all others. */
  @Column({ type: 'smallint', nullable: true })
  refused!: 1 | 2 | 3 | null;

  /** The last second that a client of the gpodder API was told, 0 if none (docs/design/adr/0024). */
  @Column({ type: 'bigint', default: 0 })
  told!: number;
}
