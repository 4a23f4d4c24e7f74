import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import {
  Failure,
  isDeviceId,
  type ReplyOf,
  type RequestOf,
  type listDevices,
  type saveDevices,
} from '#contracts';
import { DataSource } from 'typeorm';
import { queryRows } from '../people/query-rows.js';
import { AccountTransactions } from './account-transactions.js';

/** Device of a gpodder client, with its last use. */
export type Device = ReplyOf<typeof listDevices>['devices'][number] & {
  /** Accurate to a minute if no other device uses the app password, otherwise to an hour. */
  readonly lastUsedAt: string;
  /** Label of the app password that last used the device; null if that is revoked or unknown. */
  readonly app: string | null;
};

/** Fields of a device that a client sends. */
export type DeviceFields = RequestOf<typeof saveDevices>['devices'][number];

const maxDevices = 100;
/** Maximum characters (Unicode code points) of a caption. Longer captions are cut. */
const maxCaptionLength = 100;

/** SQL of the sent devices: three arrays of equal length. NULL: the field was not sent. */
const sentDevices = 'unnest($2::text[], $3::text[], $4::text[]) AS sent (id, caption, type)';

/** Returns a row if a sent device is new, changed, or was last used over an hour ago. */
const selectIfSaveNeeded = `
  SELECT 1 FROM ${sentDevices} LEFT JOIN account.devices d ON d.account_id = $1 AND d.id = sent.id
  WHERE d.id IS NULL OR sent.caption <> d.caption OR sent.type <> d.type
    OR d.credential_id IS DISTINCT FROM coalesce($5::uuid, d.credential_id)
    OR d.last_used_at < now() - interval '1 hour'
  LIMIT 1`;

/** Inserts or updates the sent devices. Requires a lock on the account. */
const upsertDevices = `
  WITH updated AS (
    UPDATE account.devices d
    SET caption = coalesce(sent.caption, d.caption), type = coalesce(sent.type, d.type),
      credential_id = coalesce($5::uuid, d.credential_id), last_used_at = clock_timestamp()
    FROM ${sentDevices} WHERE d.account_id = $1 AND d.id = sent.id RETURNING d.id)
  INSERT INTO account.devices (account_id, id, caption, type, credential_id, last_used_at)
  SELECT $1, sent.id, coalesce(sent.caption, ''), coalesce(sent.type, 'other'), $5::uuid,
    clock_timestamp()
  FROM ${sentDevices} WHERE sent.id NOT IN (SELECT id FROM updated)`;

/**
 * Devices of the gpodder API, with caption, type and settings. Invariants:
 * - An account has at most 100 devices. A further device replaces another one and its settings.
 *   Devices without caption and settings are replaced first, because any request of a client
 *   creates them; then the least recently used.
 * - Saving an unchanged device writes at most once an hour.
 */
@Injectable()
export class Devices {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly transactions: AccountTransactions,
  ) {}

  /** Returns the devices of an account in the order of their ids. */
  async list(accountId: string): Promise<Device[]> {
    return queryRows<Device>(
      this.source.manager,
      `SELECT d.id, d.caption, d.type, c.label AS app, greatest(d.last_used_at,
         CASE WHEN count(*) OVER (PARTITION BY c.id) = 1 THEN c.last_used_at END) AS "lastUsedAt"
       FROM account.devices d
       LEFT JOIN account.credentials c ON c.account_id = d.account_id AND c.id = d.credential_id
       WHERE d.account_id = $1 ORDER BY d.id COLLATE "C"`,
      [accountId],
    );
  }

  /**
   * Stores the sent fields of devices, and the time of their use.
   *
   * @param credentialId id of the app password that sent the request. Undefined for another
   *   credential: then the stored app password stays.
   * @throws Failure `invalid` for a malformed device id, `unauthorized` for a disabled or erased
   *   account.
   */
  async save(
    accountId: string,
    sentFields: readonly DeviceFields[],
    credentialId?: string,
  ): Promise<void> {
    if (!sentFields.every(({ id }) => isDeviceId(id))) throw new Failure('invalid');
    const devices = [...mergeById(sentFields).values()];
    const statementValues = [
      accountId,
      devices.map(({ id }) => id),
      devices.map(({ caption }) => caption ?? null),
      devices.map(({ type }) => type ?? null),
      credentialId ?? null,
    ];
    if ((await queryRows(this.source.manager, selectIfSaveNeeded, statementValues)).length === 0)
      return;
    await this.transactions.runWithAccountLock(accountId, async (manager) => {
      await manager.query(upsertDevices, statementValues);
      await manager.query(
        `WITH deleted AS (
           DELETE FROM account.devices WHERE account_id = $1 AND id IN (
             SELECT d.id FROM account.devices d WHERE d.account_id = $1
             ORDER BY d.caption = '' AND NOT EXISTS (
               SELECT FROM account.settings s
               WHERE s.account_id = $1 AND s.scope = 'device' AND s.subject = d.id),
               d.last_used_at DESC, d.id OFFSET $2)
           RETURNING id)
         DELETE FROM account.settings
         WHERE account_id = $1 AND scope = 'device' AND subject IN (SELECT id FROM deleted)`,
        [accountId, maxDevices],
      );
    });
  }

  /** Deletes a device and its settings. @returns true if the device existed. */
  async delete(accountId: string, id: string): Promise<boolean> {
    if (!isDeviceId(id)) return false;
    return this.transactions.runWithAccountLock(accountId, async (manager) => {
      const deletedRows = await queryRows(
        manager,
        `WITH settings AS (
           DELETE FROM account.settings WHERE account_id = $1 AND scope = 'device' AND subject = $2)
         DELETE FROM account.devices WHERE account_id = $1 AND id = $2 RETURNING 1`,
        [accountId, id],
      );
      return deletedRows.length > 0;
    });
  }
}

/** Returns the devices by id. Later fields of a repeated device replace earlier ones. */
function mergeById(sentFields: readonly DeviceFields[]): Map<string, DeviceFields> {
  const devices = new Map<string, DeviceFields>();
  for (const { id, caption, type } of sentFields)
    devices.set(id, {
      ...devices.get(id),
      id,
      ...(caption !== undefined && { caption: cleanCaption(caption) }),
      ...(type !== undefined && { type }),
    });
  return devices;
}

/** Returns a caption without characters that Postgres or a terminal cannot handle. */
function cleanCaption(caption: string): string {
  const plainCaption = caption.replaceAll(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim();
  return [...plainCaption].slice(0, maxCaptionLength).join('').trimEnd();
}
