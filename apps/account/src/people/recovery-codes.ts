import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { RecoveryCodeEntity } from '#database/typeorm';
import { type EntityManager, IsNull, type Repository } from 'typeorm';
import { hashSecret } from './secret-hash.js';
import { Notices } from './notices.js';
import { type ActingSession, lockSession } from './sessions.js';
import { queryRows } from './query-rows.js';

/** Crockford's base 32: five bits per character, without characters that are easily confused. */
const codeAlphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const codeLength = 16;
const codesPerAccount = 10;

/**
 * Returns the hash of an entered code; undefined if the text cannot be a code. Ignores letter case,
 * spaces and dashes, and reads `o` as 0, and `i` and `l` as 1.
 */
export function hashRecoveryCode(enteredText: string): Buffer | undefined {
  const code = enteredText
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[\s-]/g, '')
    .replaceAll('o', '0')
    .replaceAll(/[il]/g, '1');
  return /^[0-9a-hjkmnp-tv-z]{16}$/.test(code) ? hashSecret(code) : undefined;
}

function generateCode(): string {
  return Array.from(
    { length: codeLength },
    () => codeAlphabet[randomInt(codeAlphabet.length)],
  ).join('');
}

/** Creates and uses one-time codes of 80 random bits for a lost password or second factor. */
@Injectable()
export class RecoveryCodes {
  constructor(
    @InjectRepository(RecoveryCodeEntity) private readonly codes: Repository<RecoveryCodeEntity>,
    private readonly notices: Notices,
  ) {}

  /**
   * Replaces all codes of an account, used or not.
   *
   * @param by current session; undefined for the operator.
   * @returns ten codes with dashes, to be shown once.
   * @throws Refusal `credentials` if the session has ended.
   */
  async replaceAll(accountId: string, by?: ActingSession): Promise<string[]> {
    const newCodes = Array.from({ length: codesPerAccount }, generateCode);
    await this.codes.manager.transaction(async (manager) => {
      await manager.query('SELECT 1 FROM account.accounts WHERE id = $1 FOR UPDATE', [accountId]);
      await lockSession(manager, by?.id);
      await manager.delete(RecoveryCodeEntity, { accountId });
      await manager.insert(
        RecoveryCodeEntity,
        newCodes.map((code) => ({ accountId, hash: hashSecret(code) })),
      );
    });
    await this.notices.addNotice(accountId, 'recovery_codes', by);
    return newCodes.map((code) => (code.match(/.{4}/g) as string[]).join('-'));
  }

  /** Returns the number of unused codes of an account. */
  countUnused(accountId: string): Promise<number> {
    return this.codes.countBy({ accountId, usedAt: IsNull() });
  }

  /** Uses a code, within the caller's transaction. @returns false if it is wrong or used. */
  async useCode(manager: EntityManager, accountId: string, enteredText: string): Promise<boolean> {
    const hash = hashRecoveryCode(enteredText);
    if (!hash) return false;
    const usedRows = await queryRows(
      manager,
      // Lock order: the account before its codes, as in `replaceAll`.
      `WITH locked_account AS (SELECT id FROM account.accounts WHERE id = $1 FOR NO KEY UPDATE)
       UPDATE account.recovery_codes c SET used_at = now() FROM locked_account
       WHERE c.account_id = locked_account.id AND c.hash = $2 AND c.used_at IS NULL
       RETURNING c.account_id`,
      [accountId, hash],
    );
    return usedRows.length === 1;
  }
}
