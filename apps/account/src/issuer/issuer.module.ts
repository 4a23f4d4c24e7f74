import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountEntity, ClientEntity, OidcEntity } from '#database/typeorm';
import { PeopleModule } from '../people/people.module.js';
import { ConsentService } from './consent.service.js';
import { Clients } from './clients.js';
import { DeviceAuthorizations } from './device-authorizations.js';
import { Grants } from './grants.js';
import { Interactions } from './interactions.js';
import { IssuerLimits } from './issuer-limits.js';
import { IssuerStore } from './issuer-store.js';
import { Issuer } from './issuer.js';

/** Provides OpenID Connect and OAuth: discovery, authorization of apps, tokens. */
@Module({
  imports: [PeopleModule, TypeOrmModule.forFeature([AccountEntity, ClientEntity, OidcEntity])],
  providers: [
    ConsentService,
    Clients,
    DeviceAuthorizations,
    Grants,
    Interactions,
    Issuer,
    IssuerLimits,
    IssuerStore,
  ],
  exports: [DeviceAuthorizations, Grants, Interactions, Issuer, IssuerLimits],
})
export class IssuerModule {}
