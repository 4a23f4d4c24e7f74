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

/** A session of a signed-in browser. */
@Entity({ schema: 'account', name: 'sessions' })
@Index('sessions_id_key', ['id'], { unique: true })
@Index('sessions_account', ['accountId'])
@Index('sessions_expiry', ['expiresAt'])
export class SessionEntity {
  /** SHA-256 of the value of the session's cookie. */
  @PrimaryColumn({ type: 'bytea' })
  hash!: Buffer;

  /** Public id of the session, which pages show and use in links. */
  @Column({ type: 'uuid' })
  id!: string;

  @Column({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  /** Time of the last proof of identity: a password, a code or a provider's answer. */
  @Column({ name: 'authenticated_at', type: 'timestamp with time zone', default: () => 'now()' })
  authenticatedAt!: Date;

  /** Time of the last request, written at most once an hour. */
  @Column({ name: 'last_used_at', type: 'timestamp with time zone', default: () => 'now()' })
  lastUsedAt!: Date;

  @Column({ name: 'expires_at', type: 'timestamp with time zone' })
  expiresAt!: Date;

  @Column({ type: 'text' })
  address!: string;

  @Column({ name: 'user_agent', type: 'text' })
  userAgent!: string;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'sessions_account_fkey' })
  account?: Relation<AccountEntity>;
}
