import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity } from '#database/typeorm';
import { IsNull, type Repository } from 'typeorm';
import { whereName } from './accounts.js';
import { type PasskeyResponse, Passkeys } from './passkeys.js';
import { Passwords } from './passwords.js';
import { Refusal } from './refusal.js';
import { SecondFactor } from './second-factor.js';
import { type Browser, type NewSession, Sessions } from './sessions.js';
import { SignInProtection } from './sign-in-protection.js';

/** Result of a complete sign-in. The caller must set both cookies. */
export interface SignInResult {
  readonly session: NewSession;
  /** Value of the device cookie, which lasts 400 days. */
  readonly device: string;
}

/** Result of a sign-in with the correct password of an account that has a second factor. */
export interface CodeRequired {
  readonly needs: 'second_factor';
  /** Proof of the password for the second step; valid for 10 minutes. */
  readonly ticket: string;
}

/** Outcomes of sign-ins, for metrics. */
export type SignInOutcome = 'signed_in' | 'needs_code' | 'refused' | 'limited' | 'busy';

/**
 * Signs people in. Invariants:
 * - An unknown name, a wrong password, a disabled account and an account without a password get the
 *   same refusal after the same work.
 * - An attempt is counted against its limits before its password is hashed. Clients cannot use up
 *   the limit of a trusted device of another person.
 * - Each sign-in sets a new session cookie, which prevents session fixation. A concurrent disabling
 *   or password change prevents or ends the session.
 */
@Injectable()
export class SignIn {
  readonly outcomes: Record<SignInOutcome, number> = {
    signed_in: 0,
    needs_code: 0,
    refused: 0,
    limited: 0,
    busy: 0,
  };

  constructor(
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly passwords: Passwords,
    private readonly protection: SignInProtection,
    private readonly secondFactor: SecondFactor,
    private readonly sessions: Sessions,
    private readonly passkeys: Passkeys,
  ) {}

  /**
   * Signs in with name and password. If the account has TOTP or a passkey, starts no session and
   * returns a ticket for the second step.
   *
   * @throws Refusal `credentials`, `limited`, `busy`.
   */
  async signIn(
    { name, password }: { name: string; password: string },
    browser: Browser,
  ): Promise<SignInResult | CodeRequired> {
    return this.countOutcome(async () => {
      const { trust, device } = this.protection.assess(name, browser);
      const resetCount = await this.protection.countSignIn({
        name,
        address: browser.address,
        device,
      });
      const account = await this.accounts.findOneBy(whereName(name));
      const isPasswordRight = await this.passwords.verify(account?.password, password, trust);
      if (!account || !isPasswordRight || account.disabledAt) throw new Refusal('credentials');
      await resetCount();
      if (account.totpConfirmedAt || account.passkeyCount > 0)
        return { needs: 'second_factor', ticket: this.secondFactor.createTicket(account) };
      return this.startSession(account, browser, { verifiedHash: account.password });
    });
  }

  /**
   * Completes a sign-in with a TOTP code.
   *
   * @throws Refusal `code`, `ticket`, `limited`; `credentials` if the password changes meanwhile.
   */
  completeWithCode(ticket: string, code: string, browser: Browser): Promise<SignInResult> {
    return this.completeSecondStep('code', ticket, browser, (account) =>
      this.secondFactor.totp.checkCode(account.id, code),
    );
  }

  /**
   * Completes a sign-in with a recovery code. Ends all other sessions and the access of all apps.
   *
   * @throws Refusal `code`, `ticket`, `limited`; `credentials` if the password changes meanwhile.
   */
  completeWithRecoveryCode(ticket: string, code: string, browser: Browser): Promise<SignInResult> {
    return this.completeSecondStep('recovery', ticket, browser, (account) =>
      this.secondFactor.acceptRecoveryCode(account.id, code),
    );
  }

  /**
   * Signs in with a passkey, without name and password. Attempts are not limited, because a
   * signature cannot be guessed.
   *
   * @throws Refusal `passkey`; `credentials` if the password changes meanwhile.
   */
  signInWithPasskey(response: PasskeyResponse, browser: Browser): Promise<SignInResult> {
    return this.countOutcome(async () => {
      const { account, recordUse } = await this.passkeys.verifyUse(response);
      return this.startSession(account, browser, {
        verifiedHash: account.password,
        runBeforeStart: recordUse,
      });
    });
  }

  /**
   * Completes a sign-in with a passkey of the account.
   *
   * @throws Refusal `passkey`, `ticket`; `credentials` if the password changes meanwhile.
   */
  completeWithPasskey(
    ticket: string,
    response: PasskeyResponse,
    browser: Browser,
  ): Promise<SignInResult> {
    return this.countOutcome(async () => {
      const account = await this.secondFactor.readTicket(ticket);
      const { recordUse } = await this.passkeys.verifyUse(response, account.id);
      return this.startSession(account, browser, {
        verifiedHash: account.password,
        runBeforeStart: recordUse,
      });
    });
  }

  /**
   * Signs a person in without checking a password: after a sign-in at the OpenID provider, or after
   * the browser has created the account.
   *
   * @param isNewAccount true for an account that this browser has just created: no notice is sent.
   * @throws Refusal `credentials` if the account is disabled.
   */
  async signInWithoutPassword(
    accountId: string,
    browser: Browser,
    isNewAccount = false,
  ): Promise<SignInResult> {
    const account = await this.accounts.findOneBy({ id: accountId, disabledAt: IsNull() });
    if (!account) throw new Refusal('credentials');
    return this.startSession(account, browser, { isNewAccount });
  }

  private async completeSecondStep(
    policy: 'code' | 'recovery',
    ticket: string,
    browser: Browser,
    checkCode: (account: AccountEntity) => Promise<void>,
  ) {
    return this.countOutcome(async () => {
      const account = await this.secondFactor.readTicket(ticket);
      const { device } = this.protection.assess(account.name ?? '', browser);
      const resetCount = await this.protection.countCode(policy, account.id, device);
      await checkCode(account);
      await resetCount();
      return this.startSession(account, browser, { verifiedHash: account.password });
    });
  }

  /**
   * Starts a session. Sends a notice of the sign-in if the device is not trusted.
   *
   * @param options `verifiedHash` and `runBeforeStart`: see {@link Sessions.startSession}. A new
   *   account (`isNewAccount`) gets no notice.
   */
  private async startSession(
    { id, name }: AccountEntity,
    browser: Browser,
    options: {
      verifiedHash?: string | null;
      runBeforeStart?: Parameters<Sessions['startSession']>[4];
      isNewAccount?: boolean;
    },
  ): Promise<SignInResult> {
    const { verifiedHash, runBeforeStart, isNewAccount = false } = options;
    const session = await this.sessions.startSession(
      id,
      browser,
      browser.session,
      verifiedHash,
      runBeforeStart,
    );
    const isRecognized = this.protection.clients.deviceOf(name ?? '', browser.device) !== undefined;
    if (!isRecognized && !isNewAccount)
      await this.protection.notices.addNotice(id, 'sign_in', browser);
    this.protection.clients.trustNetwork(browser.address);
    return { session, device: this.protection.clients.cookieFor(name ?? '', browser.device) };
  }

  private async countOutcome<Result extends SignInResult | CodeRequired>(
    runSignIn: () => Promise<Result>,
  ): Promise<Result> {
    try {
      const result = await runSignIn();
      this.outcomes['needs' in result ? 'needs_code' : 'signed_in'] += 1;
      return result;
    } catch (error) {
      if (error instanceof Refusal)
        this.outcomes[error.code === 'limited' || error.code === 'busy' ? error.code : 'refused'] +=
          1;
      throw error;
    }
  }
}
