import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { AccountEntity, Database } from '#database';
import type { Adapter } from 'oidc-provider';
import { DataSource, IsNull, Repository } from 'typeorm';
import { Clients } from './clients.js';
import { Grants } from './grants.js';
import { OidcAdapter } from './oidc.adapter.js';
import { whileAvailable } from './unavailable.js';

/** Where the issuer keeps its state, so that all replicas are one issuer. */
@Injectable()
export class IssuerStore {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly database: Database,
    private readonly clients: Clients,
    private readonly grants: Grants,
  ) {}

  /** Whether Postgres is there, as far as is known without asking it. */
  get isAvailable(): boolean {
    return this.database.availability.isAvailable;
  }

  /** Keeps one of oidc-provider's models. */
  adapter(model: string): Adapter {
    if (model === 'Client') return this.clients;
    if (model === 'Session') return nothing;
    const { source, grants } = this;
    return new OidcAdapter(model, { source, grants, availability: this.database.availability });
  }

  /** Whether there is such an account, and it may sign in. */
  isActive(id: string): Promise<boolean> {
    return whileAvailable(this.database.availability, () => this.accounts.existsBy({ id, disabledAt: IsNull() }));
  }
}

/** For what is never asked for again: the issuer has no sessions that outlive a request. */
const nothing: Adapter = {
  upsert: async () => {},
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => {},
  destroy: async () => {},
  revokeByGrantId: async () => {},
};
