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

/** All settings that clients of the gpodder API store for one scope. */
@Entity({ schema: 'account', name: 'settings' })
@Check('settings_scope', `scope IN ('account', 'device', 'podcast', 'episode')`)
export class SettingEntity {
  @PrimaryColumn({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  @PrimaryColumn({ type: 'text' })
  scope!: 'account' | 'device' | 'podcast' | 'episode';

  /** Device id, guid of the subscription or sync_id of the episode; empty for the account. */
  @PrimaryColumn({ type: 'text' })
  subject!: string;

  @Column({ type: 'json' })
  settings!: Record<string, unknown>;

  /** Size that counts against the user's limit. */
  @Column({ type: 'integer' })
  bytes!: number;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'settings_account_fkey' })
  account?: Relation<AccountEntity>;
}
