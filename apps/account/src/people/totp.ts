import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database';
import { Secret, TOTP } from 'otpauth';
import { IsNull, Not, type Repository } from 'typeorm';
import { PEOPLE, type PeopleConfig } from './people.config.js';
import { Refusal } from './refusal.js';
import { Seal } from './seal.js';
import { rowsOf } from './statement.rows.js';

/** What an app for codes is given. */
export interface NewTotp {
  /** To be typed, in base32. */
  readonly secret: string;
  /** To be shown as a QR code: `otpauth://totp/…`. */
  readonly uri: string;
}

/** What the purpose of a key for these secrets is called. */
const purpose = 'totp';

/** How long a code counts, in seconds. */
const periodSeconds = 30;

/**
 * A second factor: codes of six digits that change every 30 seconds (RFC 6238), one step of tolerance to both sides.
 *
 * Invariants:
 * - A code counts once, for whoever comes first, and none does that is older than one that counted.
 * - The secret is kept sealed, and shown only before it was confirmed.
 */
@Injectable()
export class Totp {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly sealing: Seal,
    @Inject(PEOPLE) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
  ) {}

  /**
   * Makes a secret, which counts once {@link confirm} has seen a code of it.
   *
   * @throws Refusal `totp_on` where there is one that counts.
   */
  async begin(accountId: string): Promise<NewTotp> {
    const secret = new Secret({ size: 20 });
    const sealed = this.sealing.seal(purpose, secret.base32, accountId);
    const { affected } = await this.accounts.update(
      { id: accountId, totpConfirmedAt: IsNull() },
      { totpSecret: sealed, totpStep: null },
    );
    if (!affected) throw new Refusal('totp_on');
    return this.shownTo(accountId, secret);
  }

  /** The secret that waits for its first code, to be shown again; `undefined` where there is none. */
  async pending(accountId: string): Promise<NewTotp | undefined> {
    const account = await this.accounts.findOneBy({
      id: accountId,
      totpConfirmedAt: IsNull(),
      totpSecret: Not(IsNull()),
    });
    const secret = account ? this.open(account) : undefined;
    return secret && this.shownTo(accountId, secret);
  }

  /** Turns it on, given a first code. @throws Refusal `code`. */
  async confirm(accountId: string, code: string): Promise<void> {
    await this.accept(accountId, code, 'totp_confirmed_at = now()', 'totp_confirmed_at IS NULL');
  }

  /** Counts a code at sign-in. @throws Refusal `code` where it is wrong or was used, or it is not on. */
  async check(accountId: string, code: string): Promise<void> {
    await this.accept(accountId, code, 'totp_confirmed_at = totp_confirmed_at', 'totp_confirmed_at IS NOT NULL');
  }

  /** Turns it off. */
  async remove(accountId: string): Promise<void> {
    await this.accounts.update({ id: accountId }, { totpSecret: null, totpConfirmedAt: null, totpStep: null });
  }

  private async accept(accountId: string, code: string, change: string, condition: string): Promise<void> {
    const account = await this.accounts.findOneBy({ id: accountId });
    const secret = account && this.open(account);
    const digits = code.replaceAll(' ', '').slice(0, 7);
    if (!secret || !/^\d{6}$/.test(digits)) throw new Refusal('code');
    const now = Date.now();
    const delta = new TOTP({ secret, period: periodSeconds }).validate({ token: digits, timestamp: now, window: 1 });
    if (delta === null) throw new Refusal('code');
    const step = Math.floor(now / 1_000 / periodSeconds) + delta;
    const counted = await rowsOf(
      this.accounts.manager,
      `UPDATE account.accounts SET totp_step = $2, ${change}
       WHERE id = $1 AND totp_secret = $3 AND ${condition} AND coalesce(totp_step, 0) < $2 RETURNING id`,
      [accountId, step, account.totpSecret],
    );
    if (counted.length === 0) throw new Refusal('code');
  }

  private open({ id, totpSecret }: AccountEntity): Secret | undefined {
    const base32 = totpSecret ? this.sealing.open(purpose, totpSecret, id) : undefined;
    return base32 === undefined ? undefined : Secret.fromBase32(base32);
  }

  private async shownTo(accountId: string, secret: Secret): Promise<NewTotp> {
    const { name } = await this.accounts.findOneByOrFail({ id: accountId });
    const { host } = new URL(this.config.PUBLIC_URL);
    const label = name ?? accountId;
    const uri = new TOTP({ issuer: `Podcast Sync (${host})`, label, secret, period: periodSeconds }).toString();
    return { secret: secret.base32, uri };
  }
}
