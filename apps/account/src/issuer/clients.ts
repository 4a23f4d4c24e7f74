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

/**
 * Client id of the console (../console). This client has no grant type, because `ConsoleTokens`
 * issues the tokens without a token request.
 */
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

/**
 * Limit of registered clients that no user has allowed. Above it, {@link Clients.upsert} deletes
 * the excess. `sweep.ts` deletes the others after a day.
 */
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
   * Registers a client. Above {@link unusedClientLimit}, deletes the oldest unused clients of the
   * networks with the most unused clients ({@link deleteExcessRowsByNetwork}).
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

  /**
   * Records the use of a client. `sweep.ts` then keeps the client for at least a day.
   *
   * @returns false if the client was deleted.
   */
  async markUsed(id: string): Promise<boolean> {
    if (firstPartyClients.some((client) => client.client_id === id)) return true;
    // One write per hour suffices, because the sweep keeps a client for a day after its last use.
    await this.source.query(
      `UPDATE account.clients SET used_at = now()
       WHERE id = $1 AND used_at > now() - interval '1 hour' IS NOT TRUE`,
      [id],
    );
    return this.clients.existsBy({ id });
  }

  /**
   * Returns client names by client id: of the registered clients `ids`, without deleted ones, and
   * of all first-party clients.
   */
  async readNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    // `In([])` matches no row. `findBy([])` would read all clients.
    const registeredClients = await this.clients.findBy({ id: In([...ids]) });
    const allClients = [
      ...firstPartyClients,
      ...registeredClients.map(({ payload }) => payload as unknown as ClientMetadata),
    ];
    return new Map(
      allClients.map((client) => [client.client_id, client.client_name ?? client.client_id]),
    );
  }

  /** Does nothing, because clients cannot delete their registration. */
  async destroy(): Promise<void> {}
  /** Does nothing, because a registration can be used repeatedly. */
  async consume(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}

  private runWithOutageErrors<Result>(run: () => Promise<Result>): Promise<Result> {
    return withOutageErrors(this.database.availability, run);
  }
}
