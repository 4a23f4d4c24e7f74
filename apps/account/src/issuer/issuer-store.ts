import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { Database } from '#database';
import { AccountEntity } from '#database/typeorm';
import type { Adapter } from 'oidc-provider';
import { DataSource, IsNull, Repository } from 'typeorm';
import { Clients } from './clients.js';
import { Grants } from './grants.js';
import { OidcAdapter } from './oidc-adapter.js';
import { withOutageErrors } from './outage-errors.js';

/** Provides the adapters that store the issuer's state in Postgres for all replicas. */
@Injectable()
export class IssuerStore {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly database: Database,
    private readonly clients: Clients,
    private readonly grants: Grants,
  ) {}

  /** False if the last check found Postgres unavailable. Sends no query. */
  get isAvailable(): boolean {
    return this.database.availability.isAvailable;
  }

  /** Returns the adapter that stores a model of oidc-provider, such as `RefreshToken`. */
  adapter(model: string): Adapter {
    if (model === 'Client') return this.clients;
    if (model === 'Session') return nullAdapter;
    const { source, grants } = this;
    return new OidcAdapter(model, { source, grants, availability: this.database.availability });
  }

  /** Returns true if the account exists and is not disabled. */
  isActive(id: string): Promise<boolean> {
    return withOutageErrors(this.database.availability, () =>
      this.accounts.existsBy({ id, disabledAt: IsNull() }),
    );
  }
}

/** Stores nothing, because each session of the issuer ends with its request. */
const nullAdapter: Adapter = {
  upsert: async () => {},
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => {},
  destroy: async () => {},
  revokeByGrantId: async () => {},
};
