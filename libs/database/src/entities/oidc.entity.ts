import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What the issuer keeps: codes, tokens, grants, interactions, sessions. */
@Entity({ schema: 'account', name: 'oidc' })
@Index('oidc_grant', ['grantId', 'model', 'createdAt'])
@Index('oidc_account', ['accountId', 'model', 'createdAt'])
@Index('oidc_user_code', ['userCode'])
@Index('oidc_network', ['model', 'network'], { where: 'network IS NOT NULL' })
@Index('oidc_client', { synchronize: false })
@Index('oidc_expiry', ['expiresAt'])
export class OidcEntity {
  @PrimaryColumn({ type: 'text' })
  model!: string;

  /** The SHA-256 of the value that a client has. */
  @PrimaryColumn({ type: 'bytea' })
  id!: Buffer;

  @Column({ name: 'grant_id', type: 'text', nullable: true })
  grantId!: string | null;

  @Column({ name: 'account_id', type: 'uuid', nullable: true })
  accountId!: string | null;

  /** The SHA-256 of it. */
  @Column({ name: 'user_code', type: 'bytea', nullable: true })
  userCode!: Buffer | null;

  /** Where a request that waits for a person began. */
  @Column({ type: 'text', nullable: true })
  address!: string | null;

  /** Which address that counts as for limits, for as long as nobody has decided. */
  @Column({ type: 'text', nullable: true })
  network!: string | null;

  @Column({ type: 'jsonb' })
  payload!: Record<string, unknown>;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  @Column({ name: 'expires_at', type: 'timestamp with time zone', nullable: true })
  expiresAt!: Date | null;

  @Column({ name: 'consumed_at', type: 'timestamp with time zone', nullable: true })
  consumedAt!: Date | null;
}
