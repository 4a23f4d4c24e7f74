import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { ClientEntity, Database } from '#database';
import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider';
import { DataSource, Repository } from 'typeorm';
import { requestNetwork } from './request.origin.js';
import { capFairly, type CappedRows } from '../people/fair.cap.js';
import { whileAvailable } from './unavailable.js';

/** Grant type of the device flow (RFC 8628, 3.4). */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Client id of the console (../console), which has no grant type: its tokens need a session. */
export const consoleClientId = 'podcast-sync-console';

/** Own clients, which need no registration. */
export const firstParty: readonly ClientMetadata[] = [
  {
    client_id: 'podcast-sync-cli',
    client_name: 'podcast-sync command line',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: [deviceGrant, 'refresh_token'],
    response_types: [],
    redirect_uris: [],
  },
  {
    client_id: consoleClientId,
    client_name: 'podcast-sync console',
    token_endpoint_auth_method: 'none',
    grant_types: [],
    response_types: [],
    redirect_uris: [],
  },
];

/** Unused registrations. `sweep.ts` deletes them after a day. */
const unused: CappedRows = { table: 'clients', condition: 'used_at IS NULL', most: 10_000 };

/** Stores OAuth clients: the own ones, and those of dynamic registration (RFC 7591). */
@Injectable()
export class Clients implements Adapter {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @InjectRepository(ClientEntity) private readonly clients: Repository<ClientEntity>,
    private readonly database: Database,
  ) {}

  async find(id: string): Promise<AdapterPayload | undefined> {
    const client = await this.whileAvailable(() => this.clients.findOneBy({ id }));
    return client?.payload as AdapterPayload | undefined;
  }

  /** Registers a client. Of too many unused ones, the network with most loses its oldest. */
  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    await this.whileAvailable(async () => {
      await this.source.query(
        'INSERT INTO account.clients (id, payload, network) VALUES ($1, $2, $3)',
        [id, JSON.stringify(payload), requestNetwork()],
      );
      await capFairly(this.source.manager, unused);
    });
  }

  /** Marks a client as used, so that `sweep.ts` keeps it. @returns false if it is deleted. */
  async keep(id: string): Promise<boolean> {
    if (firstParty.some((client) => client.client_id === id)) return true;
    // Within the hour, `used_at` stays unchanged, and the sweep deletes a client only after a day.
    await this.source.query(
      `UPDATE account.clients SET used_at = now() WHERE id = $1 AND used_at > now() - interval '1 hour' IS NOT TRUE`,
      [id],
    );
    return this.clients.existsBy({ id });
  }

  async namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const known = await this.clients.findBy(ids.map((id) => ({ id })));
    const all = [
      ...firstParty,
      ...known.map(({ payload }) => payload as unknown as ClientMetadata),
    ];
    return new Map(all.map((client) => [client.client_id, client.client_name ?? client.client_id]));
  }

  /** Does nothing: clients can't delete their registration, and `sweep.ts` deletes unused ones. */
  async destroy(): Promise<void> {}
  /** Does nothing: a registration can be used any number of times. */
  async consume(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}

  private whileAvailable<Result>(run: () => Promise<Result>): Promise<Result> {
    return whileAvailable(this.database.availability, run);
  }
}
