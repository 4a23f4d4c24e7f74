import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { GpodderModule } from '../gpodder/gpodder.module.js';
import { IssuerModule } from '../issuer/issuer.module.js';
import { PeopleModule } from '../people/people.module.js';
import { RelyingPartyModule } from '../relying.party/relying-party.module.js';
import { HomeController } from './home.controller.js';
import { ApprovalController } from './approval.controller.js';
import { ConnectController } from './connect.controller.js';
import { ConnectedApps } from './connected.apps.js';
import { ErasureController } from './erasure.controller.js';
import { LinkController } from './link.controller.js';
import { PasskeyController } from './passkey.controller.js';
import { PasswordController } from './password.controller.js';
import { PeopleController } from './people.controller.js';
import { ProviderController } from './provider.controller.js';
import { RecoveryController } from './recovery.controller.js';
import { RegistrationController } from './registration.controller.js';
import { SecurityController } from './security.controller.js';
import { SignInController } from './sign-in.controller.js';

/** Provides the HTML pages of accounts. */
@Module({
  imports: [PeopleModule, CredentialsModule, GpodderModule, IssuerModule, RelyingPartyModule],
  controllers: [
    HomeController,
    ApprovalController,
    ConnectController,
    ErasureController,
    LinkController,
    PasskeyController,
    PasswordController,
    PeopleController,
    ProviderController,
    RecoveryController,
    RegistrationController,
    SecurityController,
    SignInController,
  ],
  providers: [ConnectedApps],
})
export class PagesModule {}
