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
import { rowsOf } from '../people/statement.rows.js';
import { Writes } from './writes.js';

/** Device with the time of its last use, precise to the day. */
export type Device = ReplyOf<typeof listDevices>['devices'][number] & {
  readonly lastUsedAt: string;
};
/** Fields of a device that a client sends. */
export type SaidOfDevice = RequestOf<typeof saveDevices>['devices'][number];

const mostDevices = 100;
const mostCaptionLength = 100;

/** Sent devices as three arrays of one length; NULL marks fields that were not sent. */
const said = 'unnest($2::text[], $3::text[], $4::text[]) AS said (id, caption, type)';

/** Selects devices that are new, differ, or were last used over a day ago. */
const differing = `
  SELECT 1 FROM ${said} LEFT JOIN account.devices d ON d.account_id = $1 AND d.id = said.id
  WHERE d.id IS NULL OR said.caption <> d.caption OR said.type <> d.type OR d.last_used_at < now() - interval '1 day'
  LIMIT 1`;

/** Requires a lock on the account. */
const describe = `
  WITH known AS (
    UPDATE account.devices d SET caption = coalesce(said.caption, d.caption), type = coalesce(said.type, d.type),
      last_used_at = clock_timestamp()
    FROM ${said} WHERE d.account_id = $1 AND d.id = said.id RETURNING d.id)
  INSERT INTO account.devices (account_id, id, caption, type, last_used_at)
  SELECT $1, said.id, coalesce(said.caption, ''), coalesce(said.type, 'other'), clock_timestamp()
  FROM ${said} WHERE said.id NOT IN (SELECT id FROM known)`;

/**
 * Devices of the gpodder API, with caption, type and settings. Invariants:
 * - An account has at most 100. Excess ones are deleted with their settings: first those without
 *   caption and settings, as naming creates any number of them, then the least recently used.
 * - Naming an unchanged device writes nothing on the day of its last use.
 */
@Injectable()
export class Devices {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly writes: Writes,
  ) {}

  /** Returns the devices in the order of their ids. */
  async list(accountId: string): Promise<Device[]> {
    return rowsOf<Device>(
      this.source.manager,
      `SELECT id, caption, type, last_used_at AS "lastUsedAt" FROM account.devices
       WHERE account_id = $1 ORDER BY id COLLATE "C"`,
      [accountId],
    );
  }

  /** @throws Failure `invalid` for a bad id, `unauthorized` for a disabled or erased account. */
  async save(accountId: string, all: readonly SaidOfDevice[]): Promise<void> {
    if (!all.every(({ id }) => isDeviceId(id))) throw new Failure('invalid');
    const devices = [...together(all).values()];
    const values = [
      accountId,
      devices.map(({ id }) => id),
      devices.map(({ caption }) => caption ?? null),
      devices.map(({ type }) => type ?? null),
    ];
    if ((await rowsOf(this.source.manager, differing, values)).length === 0) return;
    await this.writes.ofAccount(accountId, async (manager) => {
      await manager.query(describe, values);
      await manager.query(
        `WITH gone AS (
           DELETE FROM account.devices WHERE account_id = $1 AND id IN (
             SELECT d.id FROM account.devices d WHERE d.account_id = $1
             ORDER BY d.caption = '' AND NOT EXISTS (SELECT FROM account.settings s
               WHERE s.account_id = $1 AND s.scope = 'device' AND s.subject = d.id), d.last_used_at DESC, d.id OFFSET $2)
           RETURNING id)
         DELETE FROM account.settings WHERE account_id = $1 AND scope = 'device' AND subject IN (SELECT id FROM gone)`,
        [accountId, mostDevices],
      );
    });
  }

  /** Deletes a device and its settings. @returns true if it existed. */
  async forget(accountId: string, id: string): Promise<boolean> {
    if (!isDeviceId(id)) return false;
    return this.writes.ofAccount(accountId, async (manager) => {
      const gone = await rowsOf(
        manager,
        `WITH settings AS (
           DELETE FROM account.settings WHERE account_id = $1 AND scope = 'device' AND subject = $2)
         DELETE FROM account.devices WHERE account_id = $1 AND id = $2 RETURNING 1`,
        [accountId, id],
      );
      return gone.length > 0;
    });
  }
}

function together(all: readonly SaidOfDevice[]): Map<string, SaidOfDevice> {
  const devices = new Map<string, SaidOfDevice>();
  for (const { id, caption, type } of all)
    devices.set(id, {
      ...devices.get(id),
      id,
      ...(caption !== undefined && { caption: kept(caption) }),
      ...(type !== undefined && { type }),
    });
  return devices;
}

/** Returns a caption without characters that Postgres or a terminal cannot handle. */
function kept(caption: string): string {
  const shown = caption.replaceAll(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim();
  return [...shown].slice(0, mostCaptionLength).join('').trimEnd();
}
