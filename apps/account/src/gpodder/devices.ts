import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { Failure, type ReplyOf, type RequestOf, type listDevices, type saveDevices } from '#contracts';
import { DataSource } from 'typeorm';
import { rowsOf } from '../people/statement.rows.js';
import { Writes } from './writes.js';

/** A device, as clients are told of it, and when it was last used, to the day. */
export type Device = ReplyOf<typeof listDevices>['devices'][number] & { readonly lastUsedAt: string };
/** What a client says of one. */
export type SaidOfDevice = RequestOf<typeof saveDevices>['devices'][number];

/** The most devices of an account. */
const mostDevices = 100;
const mostCaptionLength = 100;

/** An id as the API has it, with letters of any script (https://gpoddernet.readthedocs.io/en/latest/api/reference/devices.html). */
const idPattern = /^[\p{L}\p{M}\p{N}_.-]{1,64}$/u;

/** Whether there can be a device of this id. */
export const isDeviceId = (id: string): boolean => idPattern.test(id);

/** What is said of devices: three arrays of one length, with NULL where nothing is said. */
const said = 'unnest($2::text[], $3::text[], $4::text[]) AS said (id, caption, type)';

/** What does not stand as it is said, or is a day old. */
const differing = `
  SELECT 1 FROM ${said} LEFT JOIN account.devices d ON d.account_id = $1 AND d.id = said.id
  WHERE d.id IS NULL OR said.caption <> d.caption OR said.type <> d.type OR d.last_used_at < now() - interval '1 day'
  LIMIT 1`;

/** For a transaction that has locked the account. */
const describe = `
  WITH known AS (
    UPDATE account.devices d SET caption = coalesce(said.caption, d.caption), type = coalesce(said.type, d.type),
      last_used_at = clock_timestamp()
    FROM ${said} WHERE d.account_id = $1 AND d.id = said.id RETURNING d.id)
  INSERT INTO account.devices (account_id, id, caption, type, last_used_at)
  SELECT $1, said.id, coalesce(said.caption, ''), coalesce(said.type, 'other'), clock_timestamp()
  FROM ${said} WHERE said.id NOT IN (SELECT id FROM known)`;

/**
 * The devices of people, as clients of the gpodder API name them. They have a name and a description, and nothing else
 * hangs on them but settings.
 *
 * Invariants:
 * - An account has 100 at most: the longest unused goes, and its settings with it. Those without a caption and settings go
 *   first, as to name any number of them takes nothing but requests.
 * - Naming a device that is known already, on the day of its last use, writes nothing.
 */
@Injectable()
export class Devices {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly writes: Writes,
  ) {}

  /** In the order of their ids. */
  async list(accountId: string): Promise<Device[]> {
    return rowsOf<Device>(
      this.source.manager,
      `SELECT id, caption, type, last_used_at AS "lastUsedAt" FROM account.devices
       WHERE account_id = $1 ORDER BY id COLLATE "C"`,
      [accountId],
    );
  }

  /** @throws Failure `invalid` where an id is none, `unauthorized` where the account is disabled or erased. */
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

  /** Forgets a device and its settings, until a client names it again. @returns whether there was one. */
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

/** What is said of each device in all, in a form that is kept. */
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

/** A caption without what Postgres or a terminal could not take. */
function kept(caption: string): string {
  const shown = caption.replaceAll(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim();
  return [...shown].slice(0, mostCaptionLength).join('').trimEnd();
}
