import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An OAuth client from dynamic registration (RFC 7591). */
@Entity({ schema: 'account', name: 'clients' })
@Index('clients_unused', ['createdAt'], { where: 'used_at IS NULL' })
export class ClientEntity {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  /** The client's metadata, as oidc-provider stores them. */
  @Column({ type: 'jsonb' })
  payload!: Record<string, unknown>;

  /** Network of the address that registered the client, for rate limits. */
  @Column({ type: 'text' })
  network!: string;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  /**
   * Time of the last consent, exact to the hour. Null before the first consent; such a client is
   * deleted a day after `createdAt`.
   */
  @Column({ name: 'used_at', type: 'timestamp with time zone', nullable: true })
  usedAt!: Date | null;
}
