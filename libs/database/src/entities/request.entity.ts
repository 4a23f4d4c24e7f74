import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The marker of a write under the id of its request, kept for an hour, so that it takes effect once. */
@Entity({ schema: 'sync', name: 'request' })
export class RequestEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'request_id', type: 'uuid' })
  requestId!: string;

  /** The stamp that the write had. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  stamp!: Date;

  @Index('request_created_at')
  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  /** What a client's key stands for; null where the client sent none. */
  @Column({ type: 'bytea', nullable: true })
  fingerprint!: Buffer | null;
}
