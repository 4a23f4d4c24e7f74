import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The user's clock (docs/adr/0005): the stamp of the user's latest write. Every writer locks and advances it first. */
@Entity({ schema: 'sync', name: 'user_clock' })
export class UserClockEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @Column({ type: 'timestamp with time zone', precision: 3 })
  stamp!: Date;

  /** At least what the user's stored answers have; exact after each time that they had to be counted. */
  @Column({ name: 'answer_bytes', type: 'bigint', default: 0 })
  answerBytes!: number;
}
