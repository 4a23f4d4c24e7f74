import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database/typeorm';
import { type EntityManager, IsNull, type Repository } from 'typeorm';
import { z } from 'zod';
import { RecoveryCodes } from './recovery-codes.js';
import { Refusal } from './refusal.js';
import { Seal } from './seal.js';
import { hashSecret } from './secret-hash.js';
import type { Browser } from './sessions.js';
import { SignInProtection } from './sign-in-protection.js';
import { type KeptAccess, SignOut } from './sign-out.js';
import { Totp } from './totp.js';

const sealPurpose = 'sign-in ticket';
const ticketLifetimeMs = 10 * 60_000;

/**
 * Content of a ticket: account id, digest of the password hash, and time of expiry in milliseconds
 * since 1970.
 */
const ticketSchema = z.object({ account: z.guid(), password: z.string(), until: z.number() });

/** Entered code of the second factor: a TOTP code (`code`) or a recovery code (`recovery`). */
export interface SecondFactorCode {
  readonly kind: 'code' | 'recovery';
  readonly code: string;
}

/** Checks TOTP and recovery codes in the second step of a sign-in, and switches TOTP off. */
@Injectable()
export class SecondFactor {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    readonly totp: Totp,
    private readonly codes: RecoveryCodes,
    private readonly sealing: Seal,
    private readonly signOut: SignOut,
    private readonly protection: SignInProtection,
  ) {}

  /** Returns a sealed proof, valid for 10 minutes, that an account's password was correct. */
  createTicket(account: AccountEntity): string {
    const ticket = {
      account: account.id,
      password: digestPasswordHash(account),
      until: Date.now() + ticketLifetimeMs,
    };
    return this.sealing.seal(sealPurpose, JSON.stringify(ticket)).toString('base64url');
  }

  /**
   * Returns the account of a ticket.
   *
   * @throws Refusal `ticket` if the ticket is invalid or expired, the password has changed, or the
   *   account is disabled.
   */
  async readTicket(ticket: string): Promise<AccountEntity> {
    const json =
      /^[\w-]{1,1000}$/.test(ticket) &&
      this.sealing.open(sealPurpose, Buffer.from(ticket, 'base64url'));
    const claims = json ? ticketSchema.parse(JSON.parse(json)) : undefined;
    if (!claims || claims.until < Date.now()) throw new Refusal('ticket');
    const account = await this.accounts.findOneBy({ id: claims.account, disabledAt: IsNull() });
    if (!account || digestPasswordHash(account) !== claims.password) throw new Refusal('ticket');
    return account;
  }

  /** Uses a recovery code and ends all access to the account. @throws Refusal `code`. */
  acceptRecoveryCode(accountId: string, code: string): Promise<void> {
    return this.useRecoveryCode(accountId, code, {}, async () => {});
  }

  /**
   * Switches TOTP off by a TOTP or recovery code. A recovery code also ends all access to the
   * account except the current session.
   *
   * @param account id and name of the account, and id of the current session.
   * @throws Refusal `code`, `limited`.
   */
  async switchTotpOff(
    account: { id: string; name: string | null; session: string },
    { kind, code }: SecondFactorCode,
    browser: Browser,
  ): Promise<void> {
    const { device } = this.protection.assess(account.name ?? '', browser);
    const resetCount = await this.protection.countCode(kind, account.id, device);
    if (kind === 'code') await this.totp.switchOff(account.id, code);
    else
      await this.useRecoveryCode(
        account.id,
        code,
        { session: account.session },
        async (manager) => {
          const noTotp = { totpSecret: null, totpConfirmedAt: null, totpStep: null };
          await manager.update(AccountEntity, { id: account.id }, noTotp);
        },
      );
    await resetCount();
    await this.protection.notices.addNotice(account.id, 'second_factor_off', browser);
  }

  /** Uses a code, applies a change, and ends access except `keptAccess`, in one transaction. */
  private async useRecoveryCode(
    accountId: string,
    code: string,
    keptAccess: KeptAccess,
    applyChange: (manager: EntityManager) => Promise<void>,
  ): Promise<void> {
    const endedAccess = await this.accounts.manager.transaction(async (manager) => {
      if (!(await this.codes.useCode(manager, accountId, code))) throw new Refusal('code');
      await applyChange(manager);
      return this.signOut.endAccess(manager, accountId, keptAccess);
    });
    await this.signOut.notifyGateways(endedAccess);
  }
}

/** Returns a digest of the password hash, by which a ticket detects a changed password. */
function digestPasswordHash({ password }: AccountEntity): string {
  return hashSecret(password ?? '')
    .toString('base64url')
    .slice(0, 16);
}
