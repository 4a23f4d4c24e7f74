import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The answer of a write under the id of its request, kept for an hour, so that the write takes effect once. */
@Entity({ schema: 'sync', name: 'request' })
export class RequestEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'request_id', type: 'text' })
  requestId!: string;

  /** The operation that was answered. */
  @Column({ type: 'text' })
  pattern!: string;

  @Column({ type: 'json' })
  answer!: unknown;

  @Index('request_created_at')
  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;
}
