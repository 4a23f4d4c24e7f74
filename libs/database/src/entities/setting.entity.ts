import { Check, Column, Entity, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { AccountEntity } from './account.entity.js';

/** What clients of the gpodder API keep of one scope: all of its settings together. */
@Entity({ schema: 'account', name: 'settings' })
@Check('settings_scope', `scope IN ('account', 'device', 'podcast', 'episode')`)
export class SettingEntity {
  @PrimaryColumn({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  @PrimaryColumn({ type: 'text' })
  scope!: 'account' | 'device' | 'podcast' | 'episode';

  /** Which device, the guid of which subscription, the sync_id of which episode; empty for the account. */
  @PrimaryColumn({ type: 'text' })
  subject!: string;

  /** As it was sent. */
  @Column({ type: 'json' })
  settings!: Record<string, unknown>;

  /** What it counts for in the user's limit. */
  @Column({ type: 'integer' })
  bytes!: number;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'settings_account_fkey' })
  account?: Relation<AccountEntity>;
}
