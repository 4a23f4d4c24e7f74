import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { AccountEntity } from './account.entity.js';

/** A code that replaces a lost password or second factor. */
@Entity({ schema: 'account', name: 'recovery_codes' })
export class RecoveryCodeEntity {
  @PrimaryColumn({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  /** SHA-256 of the code. */
  @PrimaryColumn({ type: 'bytea' })
  hash!: Buffer;

  @Column({ name: 'used_at', type: 'timestamp with time zone', nullable: true })
  usedAt!: Date | null;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'recovery_codes_account_fkey' })
  account?: Relation<AccountEntity>;
}
