import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A single-use link, sent by mail, passed on by a person, or printed in a terminal. */
@Entity({ schema: 'account', name: 'links' })
@Index('links_account', ['accountId'])
@Index('links_expiry', ['expiresAt'])
@Check('links_kind', `kind IN ('first', 'invite', 'reset', 'verify')`)
export class LinkEntity {
  /** SHA-256 of the secret in the link. */
  @PrimaryColumn({ type: 'bytea' })
  hash!: Buffer;

  @Column({ type: 'text' })
  kind!: 'first' | 'invite' | 'reset' | 'verify';

  /** The account of a `reset` or `verify` link; null for `first` and `invite`. */
  @Column({ name: 'account_id', type: 'uuid', nullable: true })
  accountId!: string | null;

  @Column({ type: 'text', nullable: true })
  name!: string | null;

  /** The address that a `verify` link verifies; null for other links. */
  @Column({ type: 'text', nullable: true })
  email!: string | null;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  @Column({ name: 'expires_at', type: 'timestamp with time zone' })
  expiresAt!: Date;
}
