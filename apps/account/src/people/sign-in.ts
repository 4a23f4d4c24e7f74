import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database';
import { IsNull, type Repository } from 'typeorm';
import { byName } from './accounts.js';
import { Passwords } from './passwords.js';
import { Refusal } from './refusal.js';
import { SecondFactor } from './second-factor.js';
import { type NewSession, Sessions, type Visitor } from './sessions.js';
import { SignInGuard } from './sign-in.guard.js';

/** A browser that asks: from where, and with which cookies of ours. */
export interface Browser extends Visitor {
  /** The cookie of its session, if it has one. */
  readonly session?: string | undefined;
  /** The cookie of a browser that has signed in before, if it has one. */
  readonly device?: string | undefined;
}

/** Somebody is signed in: both cookies are to be set. */
export interface SignedIn {
  readonly session: NewSession;
  /** The value of the cookie that says that this browser signed in before; to be kept for 400 days. */
  readonly device: string;
}

/** The password was right, and a code is asked for: with the ticket, within 10 minutes. */
export interface NeedsCode {
  readonly needs: 'totp';
  readonly ticket: string;
}

/** What sign-ins ended in, for metrics. */
export type SignInOutcome = 'signed_in' | 'needs_code' | 'refused' | 'limited' | 'busy';

/**
 * Signs people in.
 *
 * Invariants:
 * - Unknown, wrong, disabled and without a password are one refusal, after the same work.
 * - Limits are counted before anything is hashed; strangers can't use up a person's.
 * - Each sign-in sets a new cookie (session fixation), and none outlives what ended the right to it meanwhile.
 */
@Injectable()
export class SignIn {
  /** How often sign-ins ended in what. */
  readonly outcomes: Record<SignInOutcome, number> = { signed_in: 0, needs_code: 0, refused: 0, limited: 0, busy: 0 };

  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly passwords: Passwords,
    private readonly guard: SignInGuard,
    private readonly secondFactor: SecondFactor,
    private readonly sessions: Sessions,
  ) {}

  /**
   * With name and password. Also to show the password once more, as approvals ask for.
   *
   * @throws Refusal `credentials`, `limited`, `busy`.
   */
  async signIn(
    { name, password }: { name: string; password: string },
    browser: Browser,
  ): Promise<SignedIn | NeedsCode> {
    return this.counted(async () => {
      const { standing, device } = this.guard.of(name, browser);
      const succeeded = await this.guard.limits.begin({ name, address: browser.address, device });
      const account = await this.accounts.findOneBy(byName(name));
      const isRight = await this.passwords.verify(account?.password, password, standing);
      if (!account || !isRight || account.disabledAt) throw new Refusal('credentials');
      await succeeded();
      if (account.totpConfirmedAt) return { needs: 'totp', ticket: this.secondFactor.ticketFor(account) };
      return this.begin(account, browser, account.password);
    });
  }

  /**
   * With the code that an app shows, after the password.
   *
   * @throws Refusal `code`, `ticket`, `limited`; `credentials` where the password was changed meanwhile.
   */
  withCode(ticket: string, code: string, browser: Browser): Promise<SignedIn> {
    return this.second(ticket, browser, (account) => this.secondFactor.totp.check(account.id, code));
  }

  /**
   * With a recovery code in the place of such a code. Ends every other session and every app's access.
   *
   * @throws Refusal `code`, `ticket`, `limited`; `credentials` where the password was changed meanwhile.
   */
  withRecoveryCode(ticket: string, code: string, browser: Browser): Promise<SignedIn> {
    return this.second(ticket, browser, (account) => this.secondFactor.recover(account.id, code));
  }

  /**
   * Of somebody who was made sure of otherwise: by another provider's answer, or as the account was just made.
   *
   * @throws Refusal `credentials` where the account is disabled.
   */
  async forAccount(accountId: string, browser: Browser): Promise<SignedIn> {
    const account = await this.accounts.findOneBy({ id: accountId, disabledAt: IsNull() });
    if (!account) throw new Refusal('credentials');
    return this.begin(account, browser);
  }

  private async second(ticket: string, browser: Browser, check: (account: AccountEntity) => Promise<void>) {
    return this.counted(async () => {
      const account = await this.secondFactor.accountOf(ticket);
      const { device } = this.guard.of(account.name ?? '', browser);
      const succeeded = await this.guard.limits.beginCode(account.id, device);
      await check(account);
      await succeeded();
      return this.begin(account, browser, account.password);
    });
  }

  /** @param password the PHC text that was verified, after a sign-in with a password. */
  private async begin({ id, name }: AccountEntity, browser: Browser, password?: string | null): Promise<SignedIn> {
    const session = await this.sessions.begin(id, browser, browser.session, password);
    this.guard.browsers.remember(browser.address);
    return { session, device: this.guard.browsers.cookieFor(name ?? '', browser.device) };
  }

  private async counted<Result extends SignedIn | NeedsCode>(run: () => Promise<Result>): Promise<Result> {
    try {
      const result = await run();
      this.outcomes['needs' in result ? 'needs_code' : 'signed_in'] += 1;
      return result;
    } catch (error) {
      if (error instanceof Refusal)
        this.outcomes[error.code === 'limited' || error.code === 'busy' ? error.code : 'refused'] += 1;
      throw error;
    }
  }
}
