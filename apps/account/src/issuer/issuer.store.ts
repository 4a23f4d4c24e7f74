import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { AccountEntity, Database } from '#database';
import type { Adapter } from 'oidc-provider';
import { DataSource, IsNull, Repository } from 'typeorm';
import { Clients } from './clients.js';
import { Grants } from './grants.js';
import { OidcAdapter } from './oidc.adapter.js';
import { whileAvailable } from './unavailable.js';

/** Stores the issuer's state in Postgres, which all replicas share. */
@Injectable()
export class IssuerStore {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly database: Database,
    private readonly clients: Clients,
    private readonly grants: Grants,
  ) {}

  /** Returns false while Postgres is unavailable, without a query. */
  get isAvailable(): boolean {
    return this.database.availability.isAvailable;
  }

  adapter(model: string): Adapter {
    if (model === 'Client') return this.clients;
    if (model === 'Session') return nothing;
    const { source, grants } = this;
    return new OidcAdapter(model, { source, grants, availability: this.database.availability });
  }

  isActive(id: string): Promise<boolean> {
    return whileAvailable(this.database.availability, () =>
      this.accounts.existsBy({ id, disabledAt: IsNull() }),
    );
  }
}

/** Stores nothing: sessions of the issuer end with the request. */
const nothing: Adapter = {
  upsert: async () => {},
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => {},
  destroy: async () => {},
  revokeByGrantId: async () => {},
};
