import {
  Check,
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  type Relation,
} from 'typeorm';
import { AccountEntity } from './account.entity.js';

/** A security notice for the owner of an account, such as a new sign-in or a changed password. */
@Entity({ schema: 'account', name: 'notices' })
@Check(
  'notices_kind',
  `kind IN ('password', 'second_factor_off', 'recovery_codes', 'app_password', 'sign_in', 'email',
     'appointed', 'dismissed', 'passkey', 'passkey_removed')`,
)
export class NoticeEntity {
  @PrimaryColumn({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  @Column({ type: 'text' })
  kind!:
    | 'password'
    | 'second_factor_off'
    | 'recovery_codes'
    | 'app_password'
    | 'sign_in'
    | 'email'
    | 'appointed'
    | 'dismissed'
    | 'passkey'
    | 'passkey_removed';

  /** Name of the app password or passkey that the notice is about; null for other notices. */
  @Column({ type: 'text', nullable: true })
  label!: string | null;

  /** Address of the browser or app that caused the notice. */
  @Column({ type: 'text' })
  address!: string;

  @Column({ name: 'user_agent', type: 'text' })
  userAgent!: string;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'notices_account_fkey' })
  account?: Relation<AccountEntity>;
}
