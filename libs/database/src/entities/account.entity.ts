import { Check, Column, Entity, Index, PrimaryColumn, VirtualColumn } from 'typeorm';

/** A person's account. All other tables use its id as the user id. */
@Entity({ schema: 'account', name: 'accounts' })
@Index('accounts_name_key', { synchronize: false })
@Index('accounts_subject_key', ['issuer', 'subject'], { unique: true })
@Check('accounts_name', `name ~ '^[A-Za-z0-9_.-]{1,64}$'`)
@Check('accounts_subject', `(issuer IS NULL) = (subject IS NULL)`)
export class AccountEntity {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  /** Unique regardless of case. Null until a user of an identity provider chooses a name. */
  @Column({ type: 'text', nullable: true })
  name!: string | null;

  /**
   * `issuer` and `subject` identify the person at an external identity provider. Both are null for
   * an account without an identity provider.
   */
  @Column({ type: 'text', nullable: true })
  issuer!: string | null;

  @Column({ type: 'text', nullable: true })
  subject!: string | null;

  /** The hash of the password by argon2id, in PHC format; null without a password. */
  @Column({ type: 'text', nullable: true })
  password!: string | null;

  /** The encrypted secret of time-based codes (TOTP); null if the account has no secret. */
  @Column({ name: 'totp_secret', type: 'bytea', nullable: true })
  totpSecret!: Buffer | null;

  @Column({ name: 'totp_confirmed_at', type: 'timestamp with time zone', nullable: true })
  totpConfirmedAt!: Date | null;

  /** Time step of the last accepted TOTP code. Only codes of later time steps are accepted. */
  @Column({ name: 'totp_step', type: 'bigint', nullable: true })
  totpStep!: number | null;

  /** Time of the last accepted passkey challenge. Only later challenges are accepted. */
  @Column({ name: 'passkey_challenge_at', type: 'timestamp with time zone', nullable: true })
  passkeyChallengeAt!: Date | null;

  /** Number of the account's passkeys, including suspended ones. */
  @VirtualColumn({
    query: (alias) =>
      `SELECT count(*)::integer FROM account.passkeys WHERE account_id = ${alias}.id`,
  })
  passkeyCount!: number;

  @Column({ type: 'text', nullable: true })
  email!: string | null;

  @Column({ name: 'email_verified_at', type: 'timestamp with time zone', nullable: true })
  emailVerifiedAt!: Date | null;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  /** Time of the last sign-in in a browser; null before the first. */
  @Column({ name: 'signed_in_at', type: 'timestamp with time zone', nullable: true })
  signedInAt!: Date | null;

  @Column({ name: 'disabled_at', type: 'timestamp with time zone', nullable: true })
  disabledAt!: Date | null;

  /** True for people who manage the accounts of others on the web pages. */
  @Column({ name: 'is_administrator', type: 'boolean', default: false })
  isAdministrator!: boolean;
}
