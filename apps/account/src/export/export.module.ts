import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { IssuerModule } from '../issuer/issuer.module.js';
import { PeopleModule } from '../people/people.module.js';
import { ExportController } from './export.controller.js';
import { Export } from './export.js';

/** Export of a person's data. */
@Module({
  imports: [PeopleModule, CredentialsModule, IssuerModule],
  controllers: [ExportController],
  providers: [Export],
})
export class ExportModule {}
