import type { Availability } from '#database';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { DataSource } from 'typeorm';
import type { Grants } from './grants.js';
import { capFairly } from '../people/fair.cap.js';
import { hashOf } from '../people/secret.hash.js';
import { rowsOf } from '../people/statement.rows.js';
import { requestAddress, requestNetwork } from './request.origin.js';
import { whileAvailable } from './unavailable.js';

/** Period of reuse after the first use, for two processes of one app and for lost responses. */
const reuseWindow = '60 seconds';
/** Retention of a used refresh token. Within it, later use ends the grant. */
const usedLife = '30 days';

/** Maximum refresh tokens per grant outside of {@link reuseWindow}. Old ones are deleted. */
const keptPerGrant = 50;

/** Models that can be reused within {@link reuseWindow}: their holder has no other credential. */
const reusable: ReadonlySet<string> = new Set(['RefreshToken', 'DeviceCode']);
/** Returns SQL for the number of rotations before a refresh token. */
const rotationsOf = (payload: string) => `coalesce((${payload} ->> 'rotations')::integer, 0)`;
/** Models that belong to a grant and require one. */
const granted: ReadonlySet<string> = new Set(['RefreshToken', 'AuthorizationCode']);
/** Models that unauthenticated clients create and that wait for a user. */
const open: ReadonlySet<string> = new Set(['Interaction', 'DeviceCode']);

/** Maximum pending requests of one model. */
const openInAll = 20_000;

/** The dependencies of an adapter. */
export interface AdapterContext {
  readonly source: DataSource;
  readonly availability: Availability;
  readonly grants: Grants;
}

interface Row {
  payload: AdapterPayload;
  expiresAt: string | null;
  used: string | null;
  recent: boolean | null;
}

/**
 * Stores one model of oidc-provider in Postgres. Invariants:
 * - The row id is the SHA-256 of the client's secret; no column contains the secret.
 * - A code is used once. A refresh token and a device code can be reused for 60 s after the first
 *   use, by two processes or after a lost response. Later use ends the grant. Reuse does not extend
 *   the period.
 * - Of several refresh tokens from one rotation, one continues: its first use also uses all that
 *   are not younger.
 * - A grant has a bounded number of rows.
 * - After a grant ends, nothing writes to it: each write locks the row of the grant.
 * - A grant lives as long as its last refresh token.
 */
export class OidcAdapter implements Adapter {
  constructor(
    private readonly model: string,
    private readonly context: AdapterContext,
  ) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    if (granted.has(this.model)) return this.addToGrant(id, payload, expiresIn);
    const isOpen = open.has(this.model);
    // On conflict, the payload contains the decision, and the request is no longer pending.
    const [row] = await this.query<{ isOpen: boolean }>(
      `INSERT INTO account.oidc (model, id, payload, account_id, grant_id, user_code, address, network, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9))
       ON CONFLICT (model, id) DO UPDATE SET payload = excluded.payload, account_id = excluded.account_id,
         grant_id = excluded.grant_id, network = NULL, expires_at = excluded.expires_at
       RETURNING network IS NOT NULL AS "isOpen"`,
      [
        ...this.columns(id, payload),
        ...(isOpen ? [requestAddress(), requestNetwork()] : [null, null]),
        expiresIn,
      ],
    );
    if (row?.isOpen) await this.capOpen();
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.query<Row>(
      `SELECT payload, expires_at AS "expiresAt", consumed_at AS used, consumed_at > now() - $3::interval AS recent
       FROM account.oidc WHERE model = $1 AND id = $2`,
      [this.model, hashOf(id), reuseWindow],
    );
    if (!row) return undefined;
    const found: AdapterPayload = { ...row.payload, jti: id };
    // Refresh tokens extended the grant.
    if (this.model === 'Grant' && row.expiresAt)
      found.exp = Math.floor(Date.parse(row.expiresAt) / 1_000);
    if (row.used && !(row.recent && reusable.has(this.model)))
      found.consumed = Math.floor(Date.parse(row.used) / 1_000);
    return found;
  }

  /** Marks a value as used. @throws InvalidGrant if it was used before or the grant ended. */
  async consume(id: string): Promise<void> {
    // SKIP LOCKED prevents deadlocks with requests that use the other tokens.
    const [used] = await this.query<{ id: Buffer }>(
      `WITH used AS (
         UPDATE account.oidc SET consumed_at = now(), expires_at = LEAST(expires_at, now() + $3::interval)
         WHERE model = $1 AND id = $2 AND consumed_at IS NULL RETURNING id, grant_id, ${rotationsOf('payload')} AS age),
       others AS (
         SELECT o.id FROM account.oidc o, used
         WHERE $1 = 'RefreshToken' AND o.model = $1 AND o.grant_id = used.grant_id AND o.id <> $2
           AND o.consumed_at IS NULL AND ${rotationsOf('o.payload')} <= used.age FOR UPDATE OF o SKIP LOCKED),
       overtaken AS (
         UPDATE account.oidc SET consumed_at = now(), expires_at = LEAST(expires_at, now() + $3::interval)
         WHERE model = $1 AND id IN (SELECT id FROM others))
       SELECT id FROM used`,
      [this.model, hashOf(id), usedLife],
    );
    if (used) return;
    const [row] = await this.query<{ grantId: string }>(
      'SELECT grant_id AS "grantId" FROM account.oidc WHERE model = $1 AND id = $2',
      [this.model, hashOf(id)],
    );
    if (row && reusable.has(this.model)) return;
    if (row) await this.endGrant(row.grantId);
    throw new errors.InvalidGrant(`${this.model} was used already`);
  }

  async destroy(id: string): Promise<void> {
    if (this.model === 'Grant') return this.endGrant(id);
    await this.query('DELETE FROM account.oidc WHERE model = $1 AND id = $2', [
      this.model,
      hashOf(id),
    ]);
  }

  /** Does nothing: oidc-provider also destroys the grant, which deletes all its rows. */
  async revokeByGrantId(): Promise<void> {}

  /** Returns undefined: the issuer's sessions end with the request. */
  async findByUid(): Promise<undefined> {}

  /** Returns undefined: the device pages look codes up themselves (devices.ts). */
  async findByUserCode(): Promise<undefined> {}

  private async addToGrant(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const [added] = await this.query<{ id: Buffer }>(
      `WITH living AS (
         UPDATE account.oidc SET expires_at = GREATEST(expires_at, now() + make_interval(secs => $7))
         WHERE model = 'Grant' AND id = $8 RETURNING 1),
       old AS (
         SELECT o.id FROM living, account.oidc o
         WHERE o.model = $1 AND o.grant_id = $5 AND o.consumed_at < now() - $9::interval AND o.created_at <= (
           SELECT created_at FROM account.oidc WHERE model = $1 AND grant_id = $5
           ORDER BY created_at DESC OFFSET $10 LIMIT 1)
         FOR UPDATE OF o SKIP LOCKED),
       pruned AS (DELETE FROM account.oidc WHERE model = $1 AND id IN (SELECT id FROM old))
       INSERT INTO account.oidc (model, id, payload, account_id, grant_id, user_code, expires_at)
       SELECT $1, $2, $3, $4::uuid, $5, $6::bytea, now() + make_interval(secs => $7) FROM living
       RETURNING id`,
      [
        ...this.columns(id, payload),
        expiresIn,
        hashOf(payload.grantId ?? ''),
        reuseWindow,
        keptPerGrant - 1,
      ],
    );
    if (!added) throw new errors.InvalidGrant('the grant has ended');
  }

  /** Deletes pending requests above {@link openInAll}: the oldest of the network with most. */
  private capOpen(): Promise<void> {
    const { source, availability } = this.context;
    const condition = `model = '${this.model}' AND network IS NOT NULL AND expires_at > now()`;
    return whileAvailable(availability, () =>
      capFairly(source.manager, { table: 'oidc', condition, most: openInAll }),
    );
  }

  private columns(id: string, { jti: _jti, userCode, ...kept }: AdapterPayload): unknown[] {
    const grantId = this.model === 'Grant' ? id : (kept.grantId ?? null);
    const payload = JSON.stringify(kept);
    return [
      this.model,
      hashOf(id),
      payload,
      kept.accountId ?? null,
      grantId,
      userCode ? hashOf(userCode) : null,
    ];
  }

  private endGrant(grantId: string): Promise<void> {
    const { grants, availability } = this.context;
    return whileAvailable(availability, () => grants.end(grantId));
  }

  private query<Found>(statement: string, values: unknown[]): Promise<Found[]> {
    const { source, availability } = this.context;
    return whileAvailable(availability, () => rowsOf<Found>(source.manager, statement, values));
  }
}
