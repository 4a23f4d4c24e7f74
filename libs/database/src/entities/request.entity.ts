import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The marker of a write, kept for an hour, so that each request id takes effect once. */
@Entity({ schema: 'sync', name: 'request' })
export class RequestEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'request_id', type: 'uuid' })
  requestId!: string;

  @Column({ type: 'timestamp with time zone', precision: 3 })
  stamp!: Date;

  @Index('request_created_at')
  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  /** Hash of the request of a client's key; null if the client sent none. */
  @Column({ type: 'bytea', nullable: true })
  fingerprint!: Buffer | null;

  /** The service that wrote the row: 1 subscription, 2 episode, 3 deletion. */
  @Column({ type: 'smallint', default: () => 'sync.writer()' })
  writer!: number;
}
