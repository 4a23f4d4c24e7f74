import type { Availability } from '#database';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { DataSource } from 'typeorm';
import type { Grants } from './grants.js';
import { hashOf } from '../people/secret.hash.js';
import { rowsOf } from '../people/statement.rows.js';
import { requestAddress, requestNetwork } from './request.origin.js';
import { unavailable, whileAvailable } from './unavailable.js';

/** How long after its first use a value may be used again, for two processes of one app and for lost answers. */
const reuseWindow = '60 seconds';
/** How long a used refresh token is remembered, to end its grant where it comes again. */
const usedLife = '30 days';

/** Refresh tokens that a grant keeps, in the window aside: of more, the oldest that were used go. */
const keptPerGrant = 50;

/** What may be used again within {@link reuseWindow}: its holder has nothing else to ask with. */
const reusable: ReadonlySet<string> = new Set(['RefreshToken', 'DeviceCode']);
/** How many refresh tokens came one after the other before one. */
const rotationsOf = (payload: string) => `coalesce((${payload} ->> 'rotations')::integer, 0)`;
/** What belongs to a grant, and is not made without one. */
const granted: ReadonlySet<string> = new Set(['RefreshToken', 'AuthorizationCode']);
/** What anybody can begin, and waits for a person. */
const open: ReadonlySet<string> = new Set(['Interaction', 'DeviceCode']);

/** Requests that wait for a person: of one network, of which the oldest go, and in all, beyond which new ones are refused. */
const openPerNetwork = 10;
const openInAll = 20_000;

/** What an adapter works with. */
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
 * Keeps one model of the issuer in Postgres. Invariants:
 * - A row is found by the SHA-256 of the value that a client has; the value itself is nowhere in it.
 * - A code is used once. A refresh token and a device code may be used again within 60 s of the first use, by two processes
 *   at once or after a lost answer; later use ends the grant. No use extends that time.
 * - Of the refresh tokens that came of one, one goes on: its first use counts as use of all that are not younger.
 * - A grant has a bounded number of rows.
 * - Nothing of a grant is written once the grant has ended: each write takes the lock of the grant's row.
 * - A grant lives as long as the last of its refresh tokens.
 */
export class OidcAdapter implements Adapter {
  constructor(
    private readonly model: string,
    private readonly context: AdapterContext,
  ) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    if (granted.has(this.model)) return this.addToGrant(id, payload, expiresIn);
    const isOpen = open.has(this.model);
    const isNew = isOpen && (await this.isNew(id));
    // Written again with what was decided: it waits no more.
    await this.query(
      `INSERT INTO account.oidc (model, id, payload, account_id, grant_id, user_code, address, network, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9))
       ON CONFLICT (model, id) DO UPDATE SET payload = excluded.payload, account_id = excluded.account_id,
         grant_id = excluded.grant_id, network = NULL, expires_at = excluded.expires_at`,
      [...this.columns(id, payload), ...(isOpen ? [requestAddress(), requestNetwork()] : [null, null]), expiresIn],
    );
    if (isNew) await this.replaceOldest();
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.query<Row>(
      `SELECT payload, expires_at AS "expiresAt", consumed_at AS used, consumed_at > now() - $3::interval AS recent
       FROM account.oidc WHERE model = $1 AND id = $2`,
      [this.model, hashOf(id), reuseWindow],
    );
    if (!row) return undefined;
    const found: AdapterPayload = { ...row.payload, jti: id };
    // Prolonged by its refresh tokens.
    if (this.model === 'Grant' && row.expiresAt) found.exp = Math.floor(Date.parse(row.expiresAt) / 1_000);
    if (row.used && !(row.recent && reusable.has(this.model)))
      found.consumed = Math.floor(Date.parse(row.used) / 1_000);
    return found;
  }

  /** @throws InvalidGrant where another request has used it before, or the grant has ended. */
  async consume(id: string): Promise<void> {
    // What is being used at this moment is skipped: it waits for nobody, and so nobody waits for each other.
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
    await this.query('DELETE FROM account.oidc WHERE model = $1 AND id = $2', [this.model, hashOf(id)]);
  }

  /** Nothing: the issuer always destroys the grant itself as well, and with it goes all that belongs to it. */
  async revokeByGrantId(): Promise<void> {}

  /** Nobody: the issuer has no sessions that last. */
  async findByUid(): Promise<undefined> {}

  /** Nobody: pages look a device up by themselves. */
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
      [...this.columns(id, payload), expiresIn, hashOf(payload.grantId ?? ''), reuseWindow, keptPerGrant - 1],
    );
    if (!added) throw new errors.InvalidGrant('the grant has ended');
  }

  /** @throws {@link unavailable} where it is new, and as many wait as may wait in all, but for those that come with it. */
  private async isNew(id: string): Promise<boolean> {
    const [{ known = false, count = 0 } = {}] = await this.query<{ known: boolean; count: number }>(
      `SELECT EXISTS (SELECT FROM account.oidc WHERE model = $1 AND id = $2) AS known, (
         SELECT count(*) FROM (
           SELECT FROM account.oidc WHERE model = $1 AND network IS NOT NULL AND expires_at > now() LIMIT $3) AS open
       ) AS count`,
      [this.model, hashOf(id), openInAll],
    );
    if (!known && count >= openInAll) throw unavailable('too many requests wait to be allowed');
    return !known;
  }

  /**
   * So that nobody can fill the table: a network replaces its own oldest requests. Done when the new one is there, so that
   * of many that come at the same time the last one to do this sees all of them. What another one removes is skipped:
   * nobody waits for each other.
   */
  private async replaceOldest(): Promise<void> {
    await this.query(
      `WITH oldest AS (
         SELECT id FROM account.oidc WHERE model = $1 AND network = $2 ORDER BY created_at DESC, id OFFSET $3)
       DELETE FROM account.oidc WHERE model = $1 AND id IN (
         SELECT o.id FROM account.oidc o JOIN oldest ON o.model = $1 AND o.id = oldest.id FOR UPDATE OF o SKIP LOCKED)`,
      [this.model, requestNetwork(), openPerNetwork],
    );
  }

  private columns(id: string, { jti: _jti, userCode, ...kept }: AdapterPayload): unknown[] {
    const grantId = this.model === 'Grant' ? id : (kept.grantId ?? null);
    const payload = JSON.stringify(kept);
    return [this.model, hashOf(id), payload, kept.accountId ?? null, grantId, userCode ? hashOf(userCode) : null];
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
