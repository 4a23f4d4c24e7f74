import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An app that registered by itself (RFC 7591). */
@Entity({ schema: 'account', name: 'clients' })
@Index('clients_unused', ['createdAt'], { where: 'used_at IS NULL' })
export class ClientEntity {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'jsonb' })
  payload!: Record<string, unknown>;

  /** Which address that counts as for limits that it registered from. */
  @Column({ type: 'text' })
  network!: string;

  @Column({ name: 'created_at', type: 'timestamp with time zone', default: () => 'now()' })
  createdAt!: Date;

  /** When somebody last allowed it something, to the hour: what nobody uses goes after a day. */
  @Column({ name: 'used_at', type: 'timestamp with time zone', nullable: true })
  usedAt!: Date | null;
}
