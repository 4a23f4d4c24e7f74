import { Injectable } from '@nestjs/common';
import { KnownBrowsers } from './known-browsers.js';
import { SignInLimits } from './limits.js';
import { Notices } from './notices.js';
import type { Browser } from './sign-in.js';

/** Rate limits, recognition of browsers and notices for sign-ins. */
@Injectable()
export class SignInGuard {
  constructor(
    readonly limits: SignInLimits,
    readonly browsers: KnownBrowsers,
    readonly notices: Notices,
  ) {}

  of(name: string, { address, device: cookie }: Browser) {
    const device = this.browsers.deviceOf(name, cookie);
    return { device, standing: this.browsers.standing(address, device) };
  }
}
