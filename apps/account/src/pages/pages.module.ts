import { Module } from '@nestjs/common';
import { ConsoleTokens } from '../console/console-tokens.js';
import { TokenController } from '../console/token.controller.js';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { Export } from '../export/export.js';
import { ExportController } from '../export/export.controller.js';
import { GpodderModule } from '../gpodder/gpodder.module.js';
import { IssuerModule } from '../issuer/issuer.module.js';
import { PeopleModule } from '../people/people.module.js';
import { RelyingParty } from '../relying-party/relying-party.js';
import { HomeController } from './home.controller.js';
import { ApprovalController } from './approval.controller.js';
import { ConnectController } from './connect.controller.js';
import { ConnectedApps } from './connected-apps.js';
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

/** Provides the routes for signed-in browsers: the pages, the export, and the console's tokens. */
@Module({
  imports: [PeopleModule, CredentialsModule, GpodderModule, IssuerModule],
  controllers: [
    HomeController,
    ApprovalController,
    ConnectController,
    ErasureController,
    ExportController,
    LinkController,
    PasskeyController,
    PasswordController,
    PeopleController,
    ProviderController,
    RecoveryController,
    RegistrationController,
    SecurityController,
    SignInController,
    TokenController,
  ],
  providers: [ConnectedApps, ConsoleTokens, Export, RelyingParty],
})
export class PagesModule {}
