import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import {
  type changeSettings,
  Failure,
  isDeviceId,
  type RequestOf,
  settingLimits,
} from '#contracts';
import { DataSource, type EntityManager } from 'typeorm';
import { queryRows } from '../people/query-rows.js';
import { applySettingsChange, type SettingValues } from './settings.rules.js';
import { AccountTransactions } from './account-transactions.js';

type ChangeRequest = RequestOf<typeof changeSettings>;

/** Stored settings of one scope, and the sizes that count towards the user's limit. */
interface ScopeState {
  /** False for the scope of a device that does not exist. */
  readonly exists: boolean;
  /** Null if the scope has no settings. */
  readonly settings: SettingValues | null;
  /** Bytes of this scope; null if the scope has no settings. */
  readonly bytes: number | null;
  /** Bytes of all scopes of the user. */
  readonly totalBytes: number;
}

/**
 * Settings of gpodder clients: any JSON, stored per scope (account, device, podcast or episode).
 * Invariants:
 * - A change is applied completely or not at all. Concurrent changes cannot exceed limits.
 * - Values are returned as they were sent.
 */
@Injectable()
export class Settings {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly transactions: AccountTransactions,
  ) {}

  /**
   * Changes settings of a scope; an empty change only reads.
   *
   * @returns all settings of the scope.
   * @throws Failure `not_found` for a missing device, `invalid` beyond a limit, `unauthorized` if
   *   the account is disabled or erased.
   */
  async changeScope({ userId, scope, set, remove }: ChangeRequest): Promise<SettingValues> {
    const [kind, subject] = [scope.of, 'id' in scope ? scope.id : ''];
    if (kind === 'device' && !isDeviceId(subject)) throw new Failure('not_found');
    const scopeKey = [userId, kind, kind === 'device' ? subject : subject.toLowerCase()];
    if (Object.keys(set).length === 0 && remove.length === 0)
      return (await readScope(this.source.manager, scopeKey, false)).settings ?? {};
    return this.transactions.runWithAccountLock(userId, async (manager) => {
      const {
        settings: current,
        bytes: oldBytes,
        totalBytes,
      } = await readScope(manager, scopeKey, true);
      const { settings, text: json, bytes } = applySettingsChange(current ?? {}, set, remove);
      const addedBytes = bytes - (oldBytes ?? 0);
      if (addedBytes > 0 && totalBytes + addedBytes > settingLimits.userBytes)
        throw new Failure('invalid');
      await (bytes === 0
        ? manager.query(deleteScope, scopeKey)
        : manager.query(upsertScope, [...scopeKey, json, bytes]));
      return settings;
    });
  }
}

const scopeCondition = 'account_id = $1 AND scope = $2 AND subject = $3';
const deleteScope = `DELETE FROM account.settings WHERE ${scopeCondition}`;
const upsertScope = `
  INSERT INTO account.settings (account_id, scope, subject, settings, bytes)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (account_id, scope, subject)
    DO UPDATE SET settings = excluded.settings, bytes = excluded.bytes`;

/**
 * Reads the stored state of a scope.
 *
 * @param scopeKey account id, kind of scope, and id of the device, subscription or episode (or '').
 * @param includesTotal false: `totalBytes` is 0, which saves the scan of the other scopes.
 * @throws Failure `not_found` for a missing device.
 */
async function readScope(
  manager: EntityManager,
  scopeKey: string[],
  includesTotal: boolean,
): Promise<ScopeState> {
  const [state] = await queryRows<ScopeState>(
    manager,
    `SELECT $2 <> 'device' OR EXISTS (
         SELECT FROM account.devices WHERE account_id = $1 AND id = $3) AS exists,
       s.settings, s.bytes,
       CASE WHEN $4 THEN (
         SELECT coalesce(sum(bytes), 0)::bigint FROM account.settings WHERE account_id = $1)
       ELSE 0 END AS "totalBytes"
     FROM (VALUES (true)) one LEFT JOIN account.settings s ON ${scopeCondition}`,
    [...scopeKey, includesTotal],
  );
  if (!state?.exists) throw new Failure('not_found');
  return state;
}
