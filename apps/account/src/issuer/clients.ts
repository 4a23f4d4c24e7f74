import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { Database } from '#database';
import { ClientEntity } from '#database/typeorm';
import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider';
import { DataSource, In, Repository } from 'typeorm';
import { requestNetwork } from './request-address.js';
import { deleteExcessRowsByNetwork, type LimitedRows } from '../people/network-quota.js';
import { withOutageErrors } from './outage-errors.js';

/** Grant type of the device flow (RFC 8628, 3.4). */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

/** Client id of the console (../console). It has no grant type, since its tokens need a session. */
export const consoleClientId = 'podcast-sync-console';

/** OAuth clients of this project, which need no registration. */
export const firstPartyClients: readonly ClientMetadata[] = [
  {
    client_id: 'podcast-sync-cli',
    client_name: 'podcast-sync command line',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: [deviceGrantType, 'refresh_token'],
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

/** Limit of registered clients that no user has allowed; `sweep.ts` deletes them after a day. */
const unusedClientLimit: LimitedRows = {
  table: 'clients',
  condition: 'used_at IS NULL',
  max: 10_000,
};

/** Stores OAuth clients of dynamic registration (RFC 7591), for oidc-provider. */
@Injectable()
export class Clients implements Adapter {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @InjectRepository(ClientEntity) private readonly clients: Repository<ClientEntity>,
    private readonly database: Database,
  ) {}

  async find(id: string): Promise<AdapterPayload | undefined> {
    const client = await this.runWithOutageErrors(() => this.clients.findOneBy({ id }));
    return client?.payload as AdapterPayload | undefined;
  }

  /**
   * Registers a client. Above 10,000 unused clients, deletes the oldest of the networks with most
   * unused clients ({@link deleteExcessRowsByNetwork}).
   */
  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    await this.runWithOutageErrors(async () => {
      await this.source.query(
        'INSERT INTO account.clients (id, payload, network) VALUES ($1, $2, $3)',
        [id, JSON.stringify(payload), requestNetwork()],
      );
      await deleteExcessRowsByNetwork(this.source.manager, unusedClientLimit);
    });
  }

  /** Records the use of a client, so that `sweep.ts` keeps it. @returns false if it is deleted. */
  async markUsed(id: string): Promise<boolean> {
    if (firstPartyClients.some((client) => client.client_id === id)) return true;
    // Writes at most once an hour. The sweep deletes clients without a grant a day after their use.
    await this.source.query(
      `UPDATE account.clients SET used_at = now()
       WHERE id = $1 AND used_at > now() - interval '1 hour' IS NOT TRUE`,
      [id],
    );
    return this.clients.existsBy({ id });
  }

  /** Returns the names of the registered clients `ids` and of all first-party clients, by id. */
  async readNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    // Not `findBy([])`, which would read all clients.
    const registered = await this.clients.findBy({ id: In([...ids]) });
    const all = [
      ...firstPartyClients,
      ...registered.map(({ payload }) => payload as unknown as ClientMetadata),
    ];
    return new Map(all.map((client) => [client.client_id, client.client_name ?? client.client_id]));
  }

  /** Does nothing: clients cannot delete their registration. `sweep.ts` deletes unused clients. */
  async destroy(): Promise<void> {}
  /** Does nothing: a registration can be used repeatedly. */
  async consume(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}

  private runWithOutageErrors<Result>(run: () => Promise<Result>): Promise<Result> {
    return withOutageErrors(this.database.availability, run);
  }
}
