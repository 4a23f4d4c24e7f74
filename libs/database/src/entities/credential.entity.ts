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

/** An app password. */
@Entity({ schema: 'account', name: 'credentials' })
@Index('credentials_hash_key', ['hash'], { unique: true })
@Index('credentials_account', ['accountId'])
export class CredentialEntity {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  /** SHA-256 of the app password. */
  @Column({ type: 'bytea' })
  hash!: Buffer;

  @Column({ type: 'text' })
  label!: string;

  @Column({ type: 'text', array: true })
  scopes!: string[];

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  /** Time of the last use, written at most once a minute; null before the first use. */
  @Column({ name: 'last_used_at', type: 'timestamp with time zone', nullable: true })
  lastUsedAt!: Date | null;

  @Column({ name: 'expires_at', type: 'timestamp with time zone', nullable: true })
  expiresAt!: Date | null;

  /** Time of the sign-out that suspended the app password; null if it is not suspended. */
  @Column({ name: 'suspended_at', type: 'timestamp with time zone', nullable: true })
  suspendedAt!: Date | null;

  /** True if Nextcloud's login flow or the page "Connect an app" created the app password. */
  @Column({ name: 'is_app', type: 'boolean', default: false })
  isApp!: boolean;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'credentials_account_fkey' })
  account?: Relation<AccountEntity>;
}
