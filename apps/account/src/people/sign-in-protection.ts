import { Injectable } from '@nestjs/common';
import { networkOf } from '#identity';
import { AttemptLimits, type AttemptPolicy } from './limits.js';
import { Notices } from './notices.js';
import type { Browser } from './sessions.js';
import { TrustedClients } from './trusted-clients.js';

/** Attempt to sign in: the entered name, and the client. */
interface SignInAttempt {
  readonly name: string;
  /** IP address of the client. */
  readonly address: string;
  /** Id of a device that signed in or reset the password with this name; otherwise undefined. */
  readonly device: string | undefined;
}

/**
 * Groups rate limits, trusted clients and notices for sign-ins. Each trusted device has its own
 * count of attempts. Attempts of other clients are counted by network, so they cannot lock out a
 * trusted device, even in the same network.
 */
@Injectable()
export class SignInProtection {
  constructor(
    private readonly limits: AttemptLimits,
    readonly clients: TrustedClients,
    readonly notices: Notices,
  ) {}

  /** Returns the client's trust level, and its device id; undefined for an untrusted device. */
  assess(name: string, { address, device: cookie }: Browser) {
    const device = this.clients.deviceOf(name, cookie);
    return { device, trust: this.clients.trustOf(address, device) };
  }

  /**
   * Counts a sign-in attempt.
   *
   * @returns function that resets the count; call it after a success.
   * @throws Refusal `limited`.
   */
  countSignIn(attempt: SignInAttempt): Promise<() => Promise<void>> {
    return this.countAttempt('pair', 'address', attempt);
  }

  /**
   * Counts an attempt to reset a password by a recovery code.
   *
   * @returns function that resets the count; call it after a success.
   * @throws Refusal `limited`.
   */
  countRecovery(attempt: SignInAttempt): Promise<() => Promise<void>> {
    return this.countAttempt('recovery', 'recovery_address', attempt);
  }

  private async countAttempt(
    pairPolicy: AttemptPolicy,
    networkPolicy: AttemptPolicy,
    { name, address, device }: SignInAttempt,
  ): Promise<() => Promise<void>> {
    const [lowerName, network] = [name.toLowerCase(), networkOf(address)];
    if (device !== undefined) {
      await this.limits.count(pairPolicy, lowerName, 'device', device);
      return () => this.limits.reset(pairPolicy, lowerName, 'device', device);
    }
    await this.limits.count(pairPolicy, lowerName, 'network', network);
    await this.limits.count(networkPolicy, network);
    return async () => {
      await this.limits.reset(pairPolicy, lowerName, 'network', network);
      await this.limits.refund(networkPolicy, network);
    };
  }

  /**
   * Counts an attempt of a network to set a password by a link.
   *
   * @returns function that subtracts this attempt from the count; call it after a success.
   * @throws Refusal `limited`.
   */
  async countLink(address: string): Promise<() => Promise<void>> {
    const network = networkOf(address);
    await this.limits.count('link', network);
    return () => this.limits.refund('link', network);
  }

  /**
   * Counts an attempt with a TOTP or recovery code, at sign-in or to switch TOTP off.
   *
   * @returns function that resets the count; call it after a success.
   * @throws Refusal `limited`.
   */
  async countCode(
    policy: 'code' | 'recovery',
    accountId: string,
    device: string | undefined,
  ): Promise<() => Promise<void>> {
    const key = device === undefined ? [accountId] : [accountId, device];
    await this.limits.count(policy, ...key);
    return () => this.limits.reset(policy, ...key);
  }
}
