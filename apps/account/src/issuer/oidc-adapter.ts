import type { Availability } from '#database';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { DataSource } from 'typeorm';
import type { Grants } from './grants.js';
import { deleteExcessRowsByNetwork } from '../people/network-quota.js';
import { hashSecret } from '../people/secret-hash.js';
import { queryRows } from '../people/query-rows.js';
import { requestAddress, requestNetwork } from './request-address.js';
import { withOutageErrors } from './outage-errors.js';

/** Period after the first use of a refresh token or device code in which its reuse is allowed. */
const reuseWindow = '60 seconds';
/** Maximum retention of used tokens and codes. The reuse of a retained value ends the grant. */
const usedRetention = '30 days';

/** Newest tokens that stay per grant. Older used tokens are deleted after {@link reuseWindow}. */
const maxTokensPerGrant = 50;

/** Models with reusable values, because an app that lost a response has no other credential. */
const reusableModels: ReadonlySet<string> = new Set(['RefreshToken', 'DeviceCode']);
/** Returns SQL for the number of refresh tokens that preceded a refresh token in its grant. */
const buildRotationsSql = (payloadColumn: string) =>
  `coalesce((${payloadColumn} ->> 'rotations')::integer, 0)`;
/** Models of oidc-provider whose rows are inserted only if their grant exists. */
const modelsUnderGrant: ReadonlySet<string> = new Set(['RefreshToken', 'AuthorizationCode']);
/** Models of pending requests, which unauthenticated clients create. */
const pendingModels: ReadonlySet<string> = new Set(['Interaction', 'DeviceCode']);

/** Maximum pending requests per model. Above it, {@link deleteExcessRowsByNetwork} applies. */
const maxPendingRequests = 20_000;

/** Dependencies of {@link OidcAdapter}. */
export interface AdapterContext {
  readonly source: DataSource;
  readonly availability: Availability;
  readonly grants: Grants;
}

interface ModelRow {
  payload: AdapterPayload;
  expiresAt: string | null;
  usedAt: string | null;
  isWithinReuseWindow: boolean | null;
}

/**
 * Stores one model of oidc-provider in Postgres. Invariants:
 * - A row id is the SHA-256 of a secret of the client. No column contains the secret.
 * - An authorization code is used once. A refresh token or device code can be used again for 60 s
 *   after its first use, for lost responses and parallel processes. Later reuse ends the grant.
 * - Reuse can create several refresh tokens. The first use of such a token marks all tokens with
 *   the same or fewer rotations as used, so that only one chain of tokens continues.
 * - A grant has a bounded number of rows.
 * - Nothing is added to an ended grant, since each addition locks the row of the grant.
 * - A grant expires with its last refresh token.
 */
export class OidcAdapter implements Adapter {
  constructor(
    private readonly model: string,
    private readonly context: AdapterContext,
  ) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    if (modelsUnderGrant.has(this.model)) return this.addToGrant(id, payload, expiresIn);
    const isPendingModel = pendingModels.has(this.model);
    // The second write of a request stores the decision. Decided requests have no `network`.
    const [row] = await this.runQuery<{ isPending: boolean }>(
      `INSERT INTO account.oidc
         (model, id, payload, account_id, grant_id, user_code, address, network, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9))
       ON CONFLICT (model, id) DO UPDATE
         SET payload = excluded.payload, account_id = excluded.account_id,
           grant_id = excluded.grant_id, network = NULL, expires_at = excluded.expires_at
       RETURNING network IS NOT NULL AS "isPending"`,
      [
        ...this.toColumnValues(id, payload),
        ...(isPendingModel ? [requestAddress(), requestNetwork()] : [null, null]),
        expiresIn,
      ],
    );
    if (row?.isPending) await this.capPendingRequests();
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.runQuery<ModelRow>(
      `SELECT payload, expires_at AS "expiresAt", consumed_at AS "usedAt",
         consumed_at > now() - $3::interval AS "isWithinReuseWindow"
       FROM account.oidc WHERE model = $1 AND id = $2`,
      [this.model, hashSecret(id), reuseWindow],
    );
    if (!row) return undefined;
    const storedPayload: AdapterPayload = { ...row.payload, jti: id };
    // New refresh tokens extend `expires_at` of the grant's row, but not `exp` in its payload.
    if (this.model === 'Grant' && row.expiresAt)
      storedPayload.exp = Math.floor(Date.parse(row.expiresAt) / 1_000);
    if (row.usedAt && !(row.isWithinReuseWindow && reusableModels.has(this.model)))
      storedPayload.consumed = Math.floor(Date.parse(row.usedAt) / 1_000);
    return storedPayload;
  }

  /**
   * Marks a code or token as used. The reuse of {@link reusableModels} has no effect; the reuse of
   * other models ends the grant.
   *
   * @throws InvalidGrant for such a reuse, and for a deleted code or token.
   */
  async consume(id: string): Promise<void> {
    // SKIP LOCKED prevents deadlocks with concurrent uses of other tokens of the grant.
    const [usedRow] = await this.runQuery<{ id: Buffer }>(
      `WITH used AS (
         UPDATE account.oidc
         SET consumed_at = now(), expires_at = LEAST(expires_at, now() + $3::interval)
         WHERE model = $1 AND id = $2 AND consumed_at IS NULL
         RETURNING id, grant_id, ${buildRotationsSql('payload')} AS age),
       others AS (
         SELECT o.id FROM account.oidc o, used
         WHERE $1 = 'RefreshToken' AND o.model = $1 AND o.grant_id = used.grant_id AND o.id <> $2
           AND o.consumed_at IS NULL AND ${buildRotationsSql('o.payload')} <= used.age
         FOR UPDATE OF o SKIP LOCKED),
       overtaken AS (
         UPDATE account.oidc
         SET consumed_at = now(), expires_at = LEAST(expires_at, now() + $3::interval)
         WHERE model = $1 AND id IN (SELECT id FROM others))
       SELECT id FROM used`,
      [this.model, hashSecret(id), usedRetention],
    );
    if (usedRow) return;
    const [row] = await this.runQuery<{ grantId: string }>(
      'SELECT grant_id AS "grantId" FROM account.oidc WHERE model = $1 AND id = $2',
      [this.model, hashSecret(id)],
    );
    if (row && reusableModels.has(this.model)) return;
    if (row) await this.endGrant(row.grantId);
    throw new errors.InvalidGrant(`${this.model} was already used`);
  }

  async destroy(id: string): Promise<void> {
    if (this.model === 'Grant') return this.endGrant(id);
    await this.runQuery('DELETE FROM account.oidc WHERE model = $1 AND id = $2', [
      this.model,
      hashSecret(id),
    ]);
  }

  /** Does nothing, because oidc-provider also calls {@link destroy} with the grant. */
  async revokeByGrantId(): Promise<void> {}

  /** Returns undefined, because the issuer's sessions end with the request. */
  async findByUid(): Promise<undefined> {}

  /** Returns undefined, because {@link DeviceAuthorizations} reads user codes. */
  async findByUserCode(): Promise<undefined> {}

  private async addToGrant(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const [addedRow] = await this.runQuery<{ id: Buffer }>(
      `WITH living AS (
         UPDATE account.oidc
         SET expires_at = GREATEST(expires_at, now() + make_interval(secs => $7))
         WHERE model = 'Grant' AND id = $8 RETURNING 1),
       old AS (
         SELECT o.id FROM living, account.oidc o
         WHERE o.model = $1 AND o.grant_id = $5 AND o.consumed_at < now() - $9::interval
           AND o.created_at <= (
           SELECT created_at FROM account.oidc WHERE model = $1 AND grant_id = $5
           ORDER BY created_at DESC OFFSET $10 LIMIT 1)
         FOR UPDATE OF o SKIP LOCKED),
       pruned AS (DELETE FROM account.oidc WHERE model = $1 AND id IN (SELECT id FROM old))
       INSERT INTO account.oidc (model, id, payload, account_id, grant_id, user_code, expires_at)
       SELECT $1, $2, $3, $4::uuid, $5, $6::bytea, now() + make_interval(secs => $7) FROM living
       RETURNING id`,
      [
        ...this.toColumnValues(id, payload),
        expiresIn,
        hashSecret(payload.grantId ?? ''),
        reuseWindow,
        maxTokensPerGrant - 1,
      ],
    );
    if (!addedRow) throw new errors.InvalidGrant('the grant has ended');
  }

  /** Deletes pending requests above {@link maxPendingRequests}. */
  private capPendingRequests(): Promise<void> {
    const { source, availability } = this.context;
    const condition = `model = '${this.model}' AND network IS NOT NULL AND expires_at > now()`;
    return withOutageErrors(availability, () =>
      deleteExcessRowsByNetwork(source.manager, {
        table: 'oidc',
        condition,
        max: maxPendingRequests,
      }),
    );
  }

  private toColumnValues(
    id: string,
    { jti: _jti, userCode, ...payload }: AdapterPayload,
  ): unknown[] {
    const grantId = this.model === 'Grant' ? id : (payload.grantId ?? null);
    return [
      this.model,
      hashSecret(id),
      JSON.stringify(payload),
      payload.accountId ?? null,
      grantId,
      userCode ? hashSecret(userCode) : null,
    ];
  }

  private endGrant(grantId: string): Promise<void> {
    const { grants, availability } = this.context;
    return withOutageErrors(availability, () => grants.endUnchecked(grantId));
  }

  private runQuery<Row>(statement: string, values: unknown[]): Promise<Row[]> {
    const { source, availability } = this.context;
    return withOutageErrors(availability, () => queryRows<Row>(source.manager, statement, values));
  }
}
