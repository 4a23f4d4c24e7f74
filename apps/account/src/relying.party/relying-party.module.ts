import { Module } from '@nestjs/common';
import { PeopleModule } from '../people/people.module.js';
import { RelyingParty } from './relying-party.js';

/** Sign-in by the operator's OpenID provider. */
@Module({ imports: [PeopleModule], providers: [RelyingParty], exports: [RelyingParty] })
export class RelyingPartyModule {}
