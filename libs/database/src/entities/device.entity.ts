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

/** A device of a client of the gpodder API. */
@Entity({ schema: 'account', name: 'devices' })
@Check('devices_type', `type IN ('desktop', 'laptop', 'mobile', 'server', 'other')`)
export class DeviceEntity {
  @PrimaryColumn({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  /** Chosen by the client; case-sensitive. */
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'text' })
  caption!: string;

  @Column({ type: 'text' })
  type!: 'desktop' | 'laptop' | 'mobile' | 'server' | 'other';

  /** Written at most once an hour. */
  @Column({ name: 'last_used_at', type: 'timestamp with time zone', default: () => 'now()' })
  lastUsedAt!: Date;

  /** The app password that used it last. It can be revoked meanwhile. */
  @Column({ name: 'credential_id', type: 'uuid', nullable: true })
  credentialId!: string | null;

  @ManyToOne(() => AccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'devices_account_fkey' })
  account?: Relation<AccountEntity>;
}
