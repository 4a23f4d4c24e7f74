import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What is known of those who read a list of the gpodder API with an app password (docs/design/adr/0024, libs/gpodder-sync). */
@Entity({ schema: 'sync', name: 'readers' })
export class ReaderEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'credential_id', type: 'uuid' })
  credentialId!: string;

  /** 1 subscriptions, 2 episodes. */
  @PrimaryColumn({ type: 'smallint' })
  list!: 1 | 2;

  /** The `since` that was last asked for, in seconds. */
  @Column({ type: 'bigint' })
  asked!: number;

  /** The last second that was told for it. */
  @Column({ type: 'bigint' })
  told!: number;

  /** The second up to which the client has everything. */
  @Column({ type: 'bigint' })
  safe!: number;

  /** When the read was sent that this comes from, in milliseconds. */
  @Column({ type: 'bigint' })
  arrived!: number;

  /** To the day. */
  @Column({ type: 'timestamp with time zone', default: () => 'now()' })
  used!: Date;
}

/** Up to which stamp a session of the gpodder API has everything of a list. */
@Entity({ schema: 'sync', name: 'reader_sessions' })
export class ReaderSessionEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @PrimaryColumn({ name: 'session_id', type: 'uuid' })
  sessionId!: string;

  /** 1 subscriptions, 2 episodes. */
  @PrimaryColumn({ type: 'smallint' })
  list!: 1 | 2;

  /** In milliseconds since 1970. */
  @Column({ type: 'bigint' })
  known!: number;

  /** To the day. */
  @Column({ type: 'timestamp with time zone', default: () => 'now()' })
  used!: Date;
}
