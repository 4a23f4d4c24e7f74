import { Injectable } from '@nestjs/common';
import { TrustedClients } from './trusted-clients.js';
import { SignInLimits } from './limits.js';
import { Notices } from './notices.js';
import type { Browser } from './sessions.js';

/** Groups rate limits, trusted clients and notices for sign-ins. */
@Injectable()
export class SignInProtection {
  constructor(
    readonly limits: SignInLimits,
    readonly clients: TrustedClients,
    readonly notices: Notices,
  ) {}

  /** Returns the id of a trusted device, otherwise undefined, and the client's trust level. */
  assess(name: string, { address, device: cookie }: Browser) {
    const device = this.clients.deviceOf(name, cookie);
    return { device, trust: this.clients.trustOf(address, device) };
  }
}
