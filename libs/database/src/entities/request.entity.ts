import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A write under the id of its request, kept for an hour, so that it takes effect once; with its answer, as long as the
 * user's answers do not take too much room.
 */
@Entity({ schema: 'sync', name: 'request' })
export class RequestEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'request_id', type: 'text' })
  requestId!: string;

  /** The operation that was answered. */
  @Column({ type: 'text' })
  pattern!: string;

  /** The stamp that the write had. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  stamp!: Date;

  @Column({ type: 'json', nullable: true })
  answer!: unknown;

  /** Of the answer, as text. */
  @Column({ type: 'integer', default: 0 })
  bytes!: number;

  @Index('request_created_at')
  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;
}
