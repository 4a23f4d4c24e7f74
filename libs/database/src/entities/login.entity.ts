import {
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  type Relation,
} from 'typeorm';
import { AccountEntity } from './account.entity.js';

/** A Nextcloud login flow (v2), from its start until the app has received its app password. */
@Entity({ schema: 'account', name: 'logins' })
@Index('logins_login_key', ['loginHash'], { unique: true })
@Index('logins_account', ['accountId'])
@Index('logins_expiry', ['expiresAt'])
export class LoginEntity {
  /** SHA-256 of the token with which the app polls for its app password. */
  @PrimaryColumn({ name: 'poll_hash', type: 'bytea' })
  pollHash!: Buffer;

  /** SHA-256 of the token in the link that the app opens in the browser. */
  @Column({ name: 'login_hash', type: 'bytea' })
  loginHash!: Buffer;

  @Column({ name: 'user_agent', type: 'text' })
  userAgent!: string;

  @Column({ type: 'text' })
  address!: string;

  /** Network of the app's address. Rate limits count flows by network. */
  @Column({ type: 'text' })
  network!: string;

  @Column({ type: 'text' })
  server!: string;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  @Column({ name: 'expires_at', type: 'timestamp with time zone' })
  expiresAt!: Date;

  /** The account that granted access; null until then. */
  @Column({ name: 'account_id', type: 'uuid', nullable: true })
  accountId!: string | null;

  /**
   * Id of the app password that the last poll created; null before. A repeated poll replaces this
   * app password, until a minute after `answeredAt`.
   */
  @Column({ name: 'credential_id', type: 'uuid', nullable: true })
  credentialId!: string | null;

  /** Time of the first response with an app password; null before. */
  @Column({ name: 'answered_at', type: 'timestamp with time zone', nullable: true })
  answeredAt!: Date | null;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'logins_account_fkey' })
  account?: Relation<AccountEntity>;
}
