import { Column, Entity, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { JoinOfUser } from './join.of.user.js';
import { RequestEntity } from './request.entity.js';

/** The answer of a marked write. The oldest answers of a user are dropped at a limit of bytes. */
@Entity({ schema: 'sync', name: 'answer' })
export class AnswerEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'request_id', type: 'uuid' })
  requestId!: string;

  /** The stamp of the marker. Answers are dropped in this order. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  stamp!: Date;

  /** Bytes of the answer as text. */
  @Column({ type: 'integer' })
  bytes!: number;

  @Column({ type: 'json' })
  answer!: unknown;

  /** The service that wrote the row: 1 subscription, 2 episode, 3 deletion. */
  @Column({ type: 'smallint', default: () => 'sync.writer()' })
  writer!: number;

  @ManyToOne(() => RequestEntity, { onDelete: 'CASCADE' })
  @JoinOfUser('answer_request_fkey', 'request_id', 'requestId')
  request?: Relation<RequestEntity>;
}
