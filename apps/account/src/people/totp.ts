import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database/typeorm';
import { Secret, TOTP } from 'otpauth';
import { IsNull, Not, type Repository } from 'typeorm';
import { PEOPLE_CONFIG, type PeopleConfig } from './people.config.js';
import { Refusal } from './refusal.js';
import { Seal } from './seal.js';
import { lockSession } from './sessions.js';
import { queryRows } from './query-rows.js';

/** Secret for an authenticator app: in base32, and as an `otpauth://` URI for a QR code. */
export interface NewTotp {
  readonly secret: string;
  readonly uri: string;
}

const sealPurpose = 'totp';

const periodSeconds = 30;

/**
 * Second factor by TOTP (RFC 6238): six digits, steps of 30 s, tolerance of one step. Invariants:
 * - Each code is accepted once. Codes older than an accepted one are rejected.
 * - The secret is stored sealed and shown only before its confirmation.
 * - Each accepted code seals the secret again, with the current `SECRETS_KEY`, so that an old key
 *   can be removed later.
 */
@Injectable()
export class Totp {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly sealing: Seal,
    @Inject(PEOPLE_CONFIG) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
  ) {}

  /**
   * Creates and stores a secret, which {@link confirmSecret} activates.
   *
   * @param session id of the browser's session.
   * @throws Refusal `totp_on` if TOTP is already on, `credentials` if the session has ended.
   */
  async createSecret(accountId: string, session?: string): Promise<NewTotp> {
    const secret = new Secret({ size: 20 });
    const sealedSecret = this.sealSecret(accountId, secret);
    await this.accounts.manager.transaction(async (manager) => {
      const { affected } = await manager.update(
        AccountEntity,
        { id: accountId, totpConfirmedAt: IsNull() },
        { totpSecret: sealedSecret, totpStep: null },
      );
      if (!affected) throw new Refusal('totp_on');
      await lockSession(manager, session);
    });
    return this.toNewTotp(accountId, secret);
  }

  /** Returns the unconfirmed secret; undefined if the account has none, or has TOTP on. */
  async readPending(accountId: string): Promise<NewTotp | undefined> {
    const account = await this.accounts.findOneBy({
      id: accountId,
      totpConfirmedAt: IsNull(),
      totpSecret: Not(IsNull()),
    });
    const secret = account ? this.unsealSecret(account) : undefined;
    return secret && this.toNewTotp(accountId, secret);
  }

  /** Switches TOTP on if the code fits the unconfirmed secret. @throws Refusal `code`. */
  async confirmSecret(accountId: string, code: string): Promise<void> {
    await this.acceptCode(accountId, code, {
      condition: 'totp_confirmed_at IS NULL',
      confirmedAt: 'now()',
    });
  }

  /** Checks a code at sign-in. @throws Refusal `code` if it is wrong or used, or TOTP is off. */
  async checkCode(accountId: string, code: string): Promise<void> {
    await this.acceptCode(accountId, code, {
      condition: 'totp_confirmed_at IS NOT NULL',
      confirmedAt: 'totp_confirmed_at',
    });
  }

  /** Switches TOTP off by a code. @throws Refusal `code` if it is wrong or used, or TOTP is off. */
  async switchOff(accountId: string, code: string): Promise<void> {
    await this.acceptCode(accountId, code, {
      condition: 'totp_confirmed_at IS NOT NULL',
      confirmedAt: 'NULL',
      deletesSecret: true,
    });
  }

  /**
   * Checks a code, and stores its time step and the secret, sealed with the current key.
   *
   * @param change SQL of the account's required state and of its new `totp_confirmed_at`. With
   *   `deletesSecret`, deletes the secret instead of storing it.
   * @throws Refusal `code`.
   */
  private async acceptCode(
    accountId: string,
    code: string,
    change: { condition: string; confirmedAt: string; deletesSecret?: boolean },
  ): Promise<void> {
    const { condition, confirmedAt, deletesSecret = false } = change;
    const account = await this.accounts.findOneBy({ id: accountId });
    const secret = account && this.unsealSecret(account);
    const digits = code.replaceAll(' ', '').slice(0, 7);
    if (!secret || !/^\d{6}$/.test(digits)) throw new Refusal('code');
    const now = Date.now();
    const stepOffset = new TOTP({ secret, period: periodSeconds }).validate({
      token: digits,
      timestamp: now,
      window: 1,
    });
    if (stepOffset === null) throw new Refusal('code');
    const timeStep = Math.floor(now / 1_000 / periodSeconds) + stepOffset;
    const changedRows = await queryRows(
      this.accounts.manager,
      `UPDATE account.accounts
       SET totp_step = $2, totp_secret = $4, totp_confirmed_at = ${confirmedAt}
       WHERE id = $1 AND totp_secret = $3 AND ${condition} AND coalesce(totp_step, 0) < $2
       RETURNING id`,
      [
        accountId,
        timeStep,
        account.totpSecret,
        deletesSecret ? null : this.sealSecret(accountId, secret),
      ],
    );
    if (changedRows.length === 0) throw new Refusal('code');
  }

  private sealSecret(accountId: string, secret: Secret): Buffer {
    return this.sealing.seal(sealPurpose, secret.base32, accountId);
  }

  private unsealSecret({ id, totpSecret }: AccountEntity): Secret | undefined {
    const base32 = totpSecret ? this.sealing.open(sealPurpose, totpSecret, id) : undefined;
    return base32 === undefined ? undefined : Secret.fromBase32(base32);
  }

  private async toNewTotp(accountId: string, secret: Secret): Promise<NewTotp> {
    const { name } = await this.accounts.findOneByOrFail({ id: accountId });
    const { host } = new URL(this.config.PUBLIC_URL);
    const label = name ?? accountId;
    const uri = new TOTP({
      issuer: `Podcast Sync (${host})`,
      label,
      secret,
      period: periodSeconds,
    }).toString();
    return { secret: secret.base32, uri };
  }
}
