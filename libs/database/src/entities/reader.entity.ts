import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The last read of a gpodder list with an app password (docs/design/adr/0024). */
@Entity({ schema: 'sync', name: 'readers' })
export class ReaderEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'credential_id', type: 'uuid' })
  credentialId!: string;

  /** 1 subscriptions, 2 episodes. */
  @PrimaryColumn({ type: 'smallint' })
  list!: 1 | 2;

  /** `since` of the last read, in seconds. */
  @Column({ type: 'bigint' })
  asked!: number;

  /** The last second that the answers to this `since` had. */
  @Column({ name: 'told', type: 'bigint' })
  answered!: number;

  /** The second up to which the client has all rows. */
  @Column({ type: 'bigint' })
  safe!: number;

  /** Time at which the transport received the last read: Redis' clock, in milliseconds. */
  @Column({ type: 'bigint' })
  arrived!: number;

  /** Day of the last use. */
  @Column({ type: 'timestamp with time zone', default: () => 'now()' })
  used!: Date;
}

/** The stamp up to which a session of the gpodder API has all rows of a list. */
@Entity({ schema: 'sync', name: 'reader_sessions' })
export class ReaderSessionEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'session_id', type: 'uuid' })
  sessionId!: string;

  /** 1 subscriptions, 2 episodes. */
  @PrimaryColumn({ type: 'smallint' })
  list!: 1 | 2;

  /** Milliseconds since 1970. */
  @Column({ type: 'bigint' })
  known!: number;

  /** Day of the last use. */
  @Column({ type: 'timestamp with time zone', default: () => 'now()' })
  used!: Date;
}
