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
/** How long somebody may take to find a code, in milliseconds. */
const ticketMs = 10 * 60_000;

const ticketSchema = z.object({ account: z.guid(), password: z.string(), until: z.number() });

/** The second step of sign-in: a code of an app, or a recovery code. */
@Injectable()
export class SecondFactor {
  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    readonly totp: Totp,
    private readonly codes: RecoveryCodes,
    private readonly sealing: Seal,
    private readonly signOut: SignOut,
  ) {}

  /** Says, sealed, that the password of an account was right just now. */
  ticketFor(account: AccountEntity): string {
    const ticket = { account: account.id, password: fingerprint(account), until: Date.now() + ticketMs };
    return this.sealing.seal(purpose, JSON.stringify(ticket)).toString('base64url');
  }

  /** The account that a ticket is of. @throws Refusal `ticket` where it is too old, or the password is another one. */
  async accountOf(ticket: string): Promise<AccountEntity> {
    const opened = /^[\w-]{1,1000}$/.test(ticket) && this.sealing.open(purpose, Buffer.from(ticket, 'base64url'));
    const claims = opened ? ticketSchema.parse(JSON.parse(opened)) : undefined;
    if (!claims || claims.until < Date.now()) throw new Refusal('ticket');
    const account = await this.accounts.findOneBy({ id: claims.account, disabledAt: IsNull() });
    if (!account || fingerprint(account) !== claims.password) throw new Refusal('ticket');
    return account;
  }

  /** Uses a recovery code: every session and every app's access ends with it. @throws Refusal `code`. */
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
