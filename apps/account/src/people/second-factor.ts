import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database';
import { IsNull, type Repository } from 'typeorm';
import { z } from 'zod';
import { RecoveryCodes } from './recovery-codes.js';
import { Refusal } from './refusal.js';
import { Seal } from './seal.js';
import { hashOf } from './secret.hash.js';
import { SignOut } from './sign-out.js';
import { Totp } from './totp.js';

const purpose = 'sign-in ticket';
const ticketMs = 10 * 60_000;

const ticketSchema = z.object({ account: z.guid(), password: z.string(), until: z.number() });

/** Second step of sign-in: a TOTP or recovery code. */
@Injectable()
export class SecondFactor {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    readonly totp: Totp,
    private readonly codes: RecoveryCodes,
    private readonly sealing: Seal,
    private readonly signOut: SignOut,
  ) {}

  /** Returns a sealed proof that the password of an account was correct. */
  ticketFor(account: AccountEntity): string {
    const ticket = {
      account: account.id,
      password: fingerprint(account),
      until: Date.now() + ticketMs,
    };
    return this.sealing.seal(purpose, JSON.stringify(ticket)).toString('base64url');
  }

  /** Returns a ticket's account. @throws Refusal `ticket` if expired or the password changed. */
  async accountOf(ticket: string): Promise<AccountEntity> {
    const opened =
      /^[\w-]{1,1000}$/.test(ticket) &&
      this.sealing.open(purpose, Buffer.from(ticket, 'base64url'));
    const claims = opened ? ticketSchema.parse(JSON.parse(opened)) : undefined;
    if (!claims || claims.until < Date.now()) throw new Refusal('ticket');
    const account = await this.accounts.findOneBy({ id: claims.account, disabledAt: IsNull() });
    if (!account || fingerprint(account) !== claims.password) throw new Refusal('ticket');
    return account;
  }

  /** Uses a recovery code and signs the account out everywhere. @throws Refusal `code`. */
  async recover(accountId: string, code: string): Promise<void> {
    const ended = await this.accounts.manager.transaction(async (manager) => {
      if (!(await this.codes.use(manager, accountId, code))) throw new Refusal('code');
      return this.signOut.within(manager, accountId);
    });
    await this.signOut.announce(ended);
  }
}

function fingerprint({ password }: AccountEntity): string {
  return hashOf(password ?? '')
    .toString('base64url')
    .slice(0, 16);
}
