import { Module } from '@nestjs/common';
import { PeopleModule } from '../people/people.module.js';
import { RelyingParty } from './relying-party.js';

/** Sign-in by a provider of the operator's. */
@Module({ imports: [PeopleModule], providers: [RelyingParty], exports: [RelyingParty] })
export class RelyingPartyModule {}
