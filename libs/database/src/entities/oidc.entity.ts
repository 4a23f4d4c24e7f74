import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A record of the OAuth issuer: a code, token, grant, interaction or session. */
@Entity({ schema: 'account', name: 'oidc' })
@Index('oidc_grant', ['grantId', 'model', 'createdAt'])
@Index('oidc_account', ['accountId', 'model', 'createdAt'])
@Index('oidc_user_code', ['userCode'])
@Index('oidc_network', ['model', 'network'], { where: 'network IS NOT NULL' })
@Index('oidc_client', { synchronize: false })
@Index('oidc_expiry', ['expiresAt'])
export class OidcEntity {
  /** Kind of the record, as named by oidc-provider, such as `RefreshToken`. */
  @PrimaryColumn({ type: 'text' })
  model!: string;

  /** SHA-256 of the code, token or id that the client has. */
  @PrimaryColumn({ type: 'bytea' })
  id!: Buffer;

  @Column({ name: 'grant_id', type: 'text', nullable: true })
  grantId!: string | null;

  @Column({ name: 'account_id', type: 'uuid', nullable: true })
  accountId!: string | null;

  /** SHA-256 of the code that the user enters for a device (RFC 8628); null for other records. */
  @Column({ name: 'user_code', type: 'bytea', nullable: true })
  userCode!: Buffer | null;

  /** Address of the client whose request waits for a person's consent; null for other records. */
  @Column({ type: 'text', nullable: true })
  address!: string | null;

  /** Network of `address`, for rate limits; null after the person decided. */
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
