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
const codeCount = 10;

/**
 * Returns the hash of an entered code; undefined if it has not the form of a code. Ignores case,
 * spaces and dashes, and reads `o` as 0, `i` and `l` as 1.
 */
export function hashRecoveryCode(typed: string): Buffer | undefined {
  const code = typed
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[\s-]/g, '')
    .replaceAll('o', '0')
    .replaceAll(/[il]/g, '1');
  return /^[0-9a-hjkmnp-tv-z]{16}$/.test(code) ? hashSecret(code) : undefined;
}

function newCode(): string {
  return Array.from(
    { length: codeLength },
    () => codeAlphabet[randomInt(codeAlphabet.length)],
  ).join('');
}

/** Single-use codes of 80 random bits for a lost password or second factor. */
@Injectable()
export class RecoveryCodes {
  constructor(
    @InjectRepository(RecoveryCodeEntity) private readonly codes: Repository<RecoveryCodeEntity>,
    private readonly notices: Notices,
  ) {}

  /**
   * Replaces the codes of an account, also the unused ones.
   *
   * @param by current session; undefined for the operator.
   * @returns ten codes, to be shown once.
   * @throws Refusal `credentials` if the session has ended.
   */
  async replaceAll(accountId: string, by?: ActingSession): Promise<string[]> {
    const created = Array.from({ length: codeCount }, newCode);
    await this.codes.manager.transaction(async (manager) => {
      await manager.query('SELECT 1 FROM account.accounts WHERE id = $1 FOR UPDATE', [accountId]);
      await lockSession(manager, by?.id);
      await manager.delete(RecoveryCodeEntity, { accountId });
      await manager.insert(
        RecoveryCodeEntity,
        created.map((code) => ({ accountId, hash: hashSecret(code) })),
      );
    });
    await this.notices.addNotice(accountId, 'recovery_codes', by);
    return created.map((code) => (code.match(/.{4}/g) as string[]).join('-'));
  }

  /** Returns the number of unused codes of an account. */
  countUnused(accountId: string): Promise<number> {
    return this.codes.countBy({ accountId, usedAt: IsNull() });
  }

  /** Marks a code as used, within the caller's transaction. @returns true if it was valid. */
  async useCode(manager: EntityManager, accountId: string, typed: string): Promise<boolean> {
    const hash = hashRecoveryCode(typed);
    if (!hash) return false;
    const used = await queryRows(
      manager,
      // Lock order: the account before its codes, as in `replaceAll`.
      `WITH locked_account AS (SELECT id FROM account.accounts WHERE id = $1 FOR NO KEY UPDATE)
       UPDATE account.recovery_codes c SET used_at = now() FROM locked_account
       WHERE c.account_id = locked_account.id AND c.hash = $2 AND c.used_at IS NULL
       RETURNING c.account_id`,
      [accountId, hash],
    );
    return used.length === 1;
  }
}
