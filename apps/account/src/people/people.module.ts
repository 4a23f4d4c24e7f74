import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  AccountEntity,
  LinkEntity,
  NoticeEntity,
  PasskeyEntity,
  RecoveryCodeEntity,
  SessionEntity,
} from '#database/typeorm';
import { RevocationWriter } from '#identity';
import { type AccountConfig, CONFIG, LOG, REDIS } from '../account.config.js';
import { Accounts } from './accounts.js';
import { Administrators } from './administrators.js';
import { Emails } from './emails.js';
import { ErasureRequests } from './erasure-requests.js';
import { TrustedClients } from './trusted-clients.js';
import { AttemptLimits } from './limits.js';
import { Links } from './links.js';
import { Mail } from './mail.js';
import { Notices } from './notices.js';
import { PasswordReset } from './password-reset.js';
import { Passkeys } from './passkeys.js';
import { Passwords } from './passwords.js';
import { PEOPLE_CONFIG } from './people.config.js';
import { RecoveryCodes } from './recovery-codes.js';
import { Registration } from './registration.js';
import { Seal } from './seal.js';
import { SecondFactor } from './second-factor.js';
import { Sessions } from './sessions.js';
import { SignInProtection } from './sign-in-protection.js';
import { SignIn } from './sign-in.js';
import { SignOut } from './sign-out.js';
import { Sweep } from '../sweep.js';
import { Totp } from './totp.js';

/** Classes that the module provides and exports. */
const services = [
  Accounts,
  Administrators,
  Emails,
  ErasureRequests,
  AttemptLimits,
  Links,
  Mail,
  Notices,
  Passkeys,
  PasswordReset,
  Passwords,
  RecoveryCodes,
  Registration,
  SecondFactor,
  Sessions,
  SignIn,
  SignInProtection,
  SignOut,
  Totp,
  TrustedClients,
];

/** Provides accounts, registration, sign-in, sessions and mails. */
@Module({
  imports: [
    TypeOrmModule.forFeature([
      AccountEntity,
      LinkEntity,
      NoticeEntity,
      PasskeyEntity,
      RecoveryCodeEntity,
      SessionEntity,
    ]),
  ],
  providers: [
    { provide: PEOPLE_CONFIG, useExisting: CONFIG },
    {
      provide: Seal,
      inject: [CONFIG],
      useFactory: (config: AccountConfig) => new Seal(config.SECRETS_KEY),
    },
    {
      provide: RevocationWriter,
      inject: [REDIS, LOG],
      useFactory: (...args: ConstructorParameters<typeof RevocationWriter>) =>
        new RevocationWriter(...args),
    },
    Sweep,
    ...services,
  ],
  exports: [PEOPLE_CONFIG, RevocationWriter, Seal, ...services],
})
export class PeopleModule {}
