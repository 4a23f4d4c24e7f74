import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The answer of a marked write, as long as the user's answers do not take too much room. */
@Entity({ schema: 'sync', name: 'answer' })
export class AnswerEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'request_id', type: 'uuid' })
  requestId!: string;

  /** That of the marker: the order in which answers go. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  stamp!: Date;

  /** Of the answer, as text. */
  @Column({ type: 'integer' })
  bytes!: number;

  @Column({ type: 'json' })
  answer!: unknown;
}
