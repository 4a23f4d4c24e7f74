import {
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  type Relation,
} from 'typeorm';
import { CredentialEntity } from './credential.entity.js';

/** A gpodder session. An ended one stays, as its signed cookie would start it again. */
@Entity({ schema: 'account', name: 'gpodder_sessions' })
@Index('gpodder_sessions_account', ['accountId'])
export class GpodderSessionEntity {
  /** The app password that started the session. */
  @PrimaryColumn({ name: 'credential_id', type: 'uuid' })
  credentialId!: string;

  /** Derived from the SHA-256 of its cookie. */
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ name: 'account_id', type: 'uuid' })
  accountId!: string;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  /** Written at most once a day. */
  @Column({ name: 'last_used_at', type: 'timestamp with time zone', default: () => 'now()' })
  lastUsedAt!: Date;

  @Column({ name: 'ended_at', type: 'timestamp with time zone', nullable: true })
  endedAt!: Date | null;

  @ManyToOne(() => CredentialEntity, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'credential_id',
    foreignKeyConstraintName: 'gpodder_sessions_credential_fkey',
  })
  credential?: Relation<CredentialEntity>;
}
