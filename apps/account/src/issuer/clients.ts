import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { ClientEntity, Database } from '#database';
import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider';
import { DataSource, Repository } from 'typeorm';
import { requestNetwork } from './request.origin.js';
import { unavailable, whileAvailable } from './unavailable.js';

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

/** Limits of unused registrations per network and in total. `sweep.ts` deletes them after a day. */
const unusedPerNetwork = 10;
const unusedInAll = 10_000;

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

  /** Registers a client. @throws {@link unavailable} at a limit of unused registrations. */
  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    const network = requestNetwork();
    const isAdded = await this.whileAvailable(() =>
      this.source.transaction(async (manager) => {
        // The lock serializes registrations, so that the limits hold. It is a separate statement
        // because the snapshot of the next one must include earlier registrations.
        await manager.query(`SELECT pg_advisory_xact_lock(hashtext('account.clients'))`);
        const added = (await manager.query(
          `INSERT INTO account.clients (id, payload, network) SELECT $1, $2, $3
           WHERE (SELECT count(*) FROM account.clients WHERE used_at IS NULL AND network = $3) < $4
             AND (SELECT count(*) FROM account.clients WHERE used_at IS NULL) < $5
           RETURNING id`,
          [id, JSON.stringify(payload), network, unusedPerNetwork, unusedInAll],
        )) as unknown[];
        return added.length > 0;
      }),
    );
    if (!isAdded) throw unavailable('too many apps have registered and were not used since');
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
