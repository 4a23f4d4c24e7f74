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

/** A passkey (WebAuthn). */
@Entity({ schema: 'account', name: 'passkeys' })
@Index('passkeys_account', ['accountId'])
export class PasskeyEntity {
  /** Id that the authenticator has chosen. */
  @PrimaryColumn({ type: 'bytea' })
  id!: Buffer;

  @Column({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  /** Public key as a COSE_Key (RFC 9052). */
  @Column({ name: 'public_key', type: 'bytea' })
  publicKey!: Buffer;

  /** Number of signatures as counted by the authenticator; 0 if it does not count. */
  @Column({ type: 'bigint' })
  counter!: number;

  @Column({ type: 'text', array: true })
  transports!: string[];

  @Column({ type: 'text' })
  label!: string;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  @Column({ name: 'last_used_at', type: 'timestamp with time zone', nullable: true })
  lastUsedAt!: Date | null;

  /**
   * Time of the sign-out that suspended the passkey; null while it can sign in alone. A suspended
   * passkey is only a second factor, until it is used after the password.
   */
  @Column({ name: 'suspended_at', type: 'timestamp with time zone', nullable: true })
  suspendedAt!: Date | null;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'passkeys_account_fkey' })
  account?: Relation<AccountEntity>;
}
